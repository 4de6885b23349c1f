import type { Run } from '@runledger/contracts/run';
import type { RunEvent } from '@runledger/contracts/run-event';
import { plain, shorten } from './plain-text.ts';

const LONGEST = 160;

/** What an event says, in a few words. */
export const describeFact = (event: RunEvent): string => shorten(plain(wordsOf(event)), LONGEST);

/** The change of the run's status, `queued -> started`, or the status alone when it stays. */
export const describeChange = (before: Run | undefined, after: Run): string => {
  if (before === undefined) return after.status;
  return before.status === after.status ? `still ${after.status}` : `${before.status} -> ${after.status}`;
};

const wordsOf = (event: RunEvent): string => {
  switch (event.type) {
    case 'RunQueued':
      return `deployment ${event.data.deployment_id} on ${event.data.gpu}, inputs ${JSON.stringify(event.data.inputs)}`;
    case 'RunCancelRequested':
      return `asked for by the ${event.data.by}`;
    case 'RunAssigned':
      return `attempt ${event.attempt} on ${event.executor_id}, slot ${event.data.slot} (${event.data.gpu})`;
    case 'RunRequeued':
      return `attempt ${event.attempt} is lost, ${event.data.reason}: ${event.data.message}`;
    case 'RunStarted':
      return `attempt ${event.attempt} executes the workflow`;
    case 'RunUploading':
      return `${counted(event.data.files, 'file')}, ${event.data.bytes} bytes`;
    case 'RunSucceeded':
      return counted(event.data.outputs.length, 'output');
    case 'RunCancelled':
      return `${event.data.forced ? 'killed after the grace period' : 'stopped'}, ${counted(event.data.outputs.length, 'output')}`;
    case 'RunCancelEnforced':
      return event.data.message;
    case 'RunFailed':
    case 'RunTimedOut':
    case 'RunGivenUp':
      return `${event.data.reason}: ${event.data.message}`;
  }
};

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
