import { EventTooLarge, LogFull } from '@runledger/event-log/append/append';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { SchedulerUnavailable } from '../scheduler/scheduler-client.ts';
import { OutputStoreUnavailable } from '../outputs/output-store.ts';
import { ViewsUnavailable } from '../projection/run-views.ts';
import { Refused, type Refusal } from '../http/refusal.ts';

/** What a client is told of whatever was thrown: refusals, what is away, and errors of ours. */
export const refusalOf = (error: unknown): Refusal => {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof LogFull) {
    return {
      kind: 'unavailable',
      why: 'The log is full and takes nothing more until older events expire. Nothing was done',
    };
  }
  if (error instanceof LogUnavailable) {
    return {
      kind: 'unavailable',
      why: 'The log of runs cannot be reached now. Try again; what a request set off may or may not have been done',
    };
  }
  if (error instanceof ViewsUnavailable) {
    return {
      kind: 'unavailable',
      why: 'The store that lists are made from cannot be reached now, or takes too long. Try again; a run by its id is found all the same',
    };
  }
  if (error instanceof SchedulerUnavailable) {
    return {
      kind: 'unavailable',
      why: 'No scheduler leads now, or it does not answer, and only that one knows. Try again, and see that a scheduler runs',
    };
  }
  if (error instanceof OutputStoreUnavailable) {
    return { kind: 'unavailable', why: 'The store of output files cannot be reached now. Try again' };
  }
  if (error instanceof EventTooLarge) {
    return { kind: 'too_large', why: 'The run does not fit an event of the log: send smaller inputs' };
  }
  return { kind: 'internal', why: 'An error of ours; the log of the service has it under the X-Request-Id' };
};
