import type { Static } from 'typebox';
import type { RunRequest } from '../fold/run.ts';
import { executorName, isExecutorId } from '../ids.ts';
import { placementWords } from './placement.ts';
import type { ColdStartParts, ListedOutputs, RunStartedData } from './run-event-data.ts';
import type { RunEvent } from './run-event.ts';
import type { WebhookEvent } from './webhook-event.ts';

/** What a fact says, for people. Texts of others in it, such as messages of programs, may have several lines. */
export const factSentence = (event: RunEvent | WebhookEvent): string => {
  switch (event.type) {
    case 'RunQueued':
      return `deployment ${event.data.deployment_id} on ${event.data.gpu}, ${inputsOf(event.data)}`;
    case 'RunCancelRequested':
      return `requested by the ${event.data.by}`;
    case 'RunAssigned':
      return `attempt ${event.attempt} ${onExecutor(event.executor_id)}slot ${event.data.slot} (${event.data.gpu})${event.data.reason ? `: ${placementWords(event.data.reason)}` : ''}`;
    case 'RunRequeued':
      return `attempt ${event.attempt} is lost, ${event.data.reason}: ${event.data.message}`;
    case 'RunStarted':
      return `attempt ${event.attempt} executes the workflow${afterLoading(event.data)}`;
    case 'RunUploading':
      return `${counted(event.data.files, 'file')}, ${event.data.bytes} bytes`;
    case 'RunSucceeded':
      return [outputsOf(event.data), ...(event.data.warnings ?? []).map(({ message }) => message)].join('; ');
    case 'RunCancelled':
      return `${event.data.forced ? 'killed after the grace period' : 'stopped'}, ${outputsOf(event.data)}`;
    case 'RunCancelEnforced':
    case 'RunExpired':
      return event.data.message;
    case 'RunAttemptFailed': {
      const { error, retry_after_s } = event.data;
      return `attempt ${event.attempt} failed, and another one follows after ${retry_after_s} s. ${error.kind}: ${error.message}`;
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

const onExecutor = (id: string | null): string =>
  id !== null && isExecutorId(id) ? `on ${executorName(id)}, ` : '';

const afterLoading = ({ cold_start_s, cold_start_parts_s }: Static<typeof RunStartedData>): string => {
  if (cold_start_parts_s !== undefined)
    return `, after ${cold_start_s} s of preparing: ${coldStartWords(cold_start_parts_s)}`;
  return cold_start_s === 0 ? '' : `, after ${cold_start_s} s of loading`;
};

/** Such as `fetch 0.2, environment 9.1, weights 0, load 0.5`. */
export const coldStartWords = ({ fetch, environment, weights, load }: ColdStartParts): string =>
  Object.entries({ fetch, environment, weights, load })
    .map(([part, seconds]) => `${part} ${seconds}`)
    .join(', ');

/** Their values are for those who ask for them: some are long, and some are secrets. */
const inputsOf = ({ inputs, inputs_blob }: RunRequest): string =>
  inputs_blob === null
    ? counted(Object.keys(inputs ?? {}).length, 'input')
    : `inputs of ${inputs_blob.bytes} bytes`;

const roundWords = ({ round }: WebhookEvent): string => (round === 1 ? '' : `round ${round}, `);

const statusWords = (status: number | null): string => (status === null ? '' : ` with status ${status}`);

const outputsOf = ({ outputs, outputs_blob }: ListedOutputs): string =>
  outputs ? counted(outputs.length, 'output') : `outputs in a list of ${outputs_blob?.bytes ?? 0} bytes`;

/** Such as `1 run` and `2 runs`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
