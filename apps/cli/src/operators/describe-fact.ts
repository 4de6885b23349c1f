import { placementWords } from '@runledger/contracts/events/placement';
import type { ListedOutputs } from '@runledger/contracts/events/run-event-data';
import type { RunRequest, RunState } from '@runledger/contracts/fold/run';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { counted } from '../output/counted.ts';
import { plain, shorten } from '../output/plain-text.ts';

const LONGEST = 160;

/** An event in a few words. */
export const describeFact = (event: RunEvent | WebhookEvent): string =>
  shorten(plain(wordsOf(event)), LONGEST);

/** The change of the run's status, such as `queued -> started`, or `still started`. */
export const describeChange = (before: RunState | undefined, after: RunState): string => {
  if (before === undefined) return after.status;
  return before.status === after.status ? `still ${after.status}` : `${before.status} -> ${after.status}`;
};

/** The change of the webhook's status. */
export const describeWebhookChange = (before: Webhook | undefined, after: Webhook): string => {
  const from = before?.status ?? 'not-started';
  return from === after.status ? `webhook still ${from}` : `webhook ${from} -> ${after.status}`;
};

const wordsOf = (event: RunEvent | WebhookEvent): string => {
  switch (event.type) {
    case 'RunQueued':
      return `deployment ${event.data.deployment_id} on ${event.data.gpu}, inputs ${inputsOf(event.data)}`;
    case 'RunCancelRequested':
      return `requested by the ${event.data.by}`;
    case 'RunAssigned':
      return `attempt ${event.attempt} on ${event.executor_id}, slot ${event.data.slot} (${event.data.gpu})${event.data.reason ? `: ${placementWords(event.data.reason)}` : ''}`;
    case 'RunRequeued':
      return `attempt ${event.attempt} is lost, ${event.data.reason}: ${event.data.message}`;
    case 'RunStarted':
      return `attempt ${event.attempt} executes the workflow${afterLoading(event.data.cold_start_s)}`;
    case 'RunUploading':
      return `${counted(event.data.files, 'file')}, ${event.data.bytes} bytes`;
    case 'RunSucceeded':
      return outputsOf(event.data);
    case 'RunCancelled':
      return `${event.data.forced ? 'killed after the grace period' : 'stopped'}, ${outputsOf(event.data)}`;
    case 'RunCancelEnforced':
    case 'RunExpired':
      return event.data.message;
    case 'RunAttemptFailed': {
      const { error, retry_after_s } = event.data;
      return `attempt ${event.attempt} failed, ${error.kind}: ${error.message}; another one follows after ${retry_after_s} s`;
    }
    case 'RunFailed':
      return `${event.data.error.kind}: ${event.data.error.message}`;
    case 'RunTimedOut':
    case 'RunGivenUp':
      return `${event.data.reason}: ${event.data.message}`;
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return `requested by user ${event.data.user_id} with the key ${event.data.key_id}`;
    case 'WebhookStarted':
      return event.data.notification === 'final'
        ? 'the final notification is being sent'
        : 'an intermediate notification was sent';
    case 'WebhookDelivered':
      return `${roundWords(event)}accepted${statusWords(event.data.status)} after ${counted(event.data.tries, 'attempt')}`;
    case 'WebhookGivenUp': {
      const { reason, message, tries, status } = event.data;
      return `${roundWords(event)}${reason} after ${counted(tries, 'attempt')}${statusWords(status)}: ${message}`;
    }
    case 'WebhookExpired':
      return `${roundWords(event)}${event.data.message}`;
    case 'WebhookRedeliveryRequested':
      return `${roundWords(event)}requested by user ${event.data.user_id}`;
  }
};

const afterLoading = (seconds: number): string => (seconds === 0 ? '' : `, after ${seconds} s of loading`);

const inputsOf = ({ inputs, inputs_blob }: RunRequest): string =>
  inputs_blob === null
    ? JSON.stringify(inputs)
    : `of ${inputs_blob.bytes} bytes in the blob ${inputs_blob.sha256}`;

const roundWords = ({ round }: WebhookEvent): string => (round === 1 ? '' : `round ${round}, `);

const statusWords = (status: number | null): string => (status === null ? '' : ` with status ${status}`);

const outputsOf = ({ outputs, outputs_blob }: ListedOutputs): string =>
  outputs ? counted(outputs.length, 'output') : `outputs in a list of ${outputs_blob?.bytes ?? 0} bytes`;
