import { isExecuting, waitsSince, type RunFact, type RunRequest } from '@runledger/contracts/fold/run';
import type { LoggedRun, LoggedRuns } from '../../evidence/logged-run.ts';

/** A run holds a slot from its assignment to the fact that ends the attempt. */
export interface SlotHold {
  readonly run: string;
  readonly org_id: string;
  readonly request: RunRequest;
  readonly gpu: string;
  /** The executor and the number of its slot. */
  readonly slot: string;
  readonly from: RunFact;
  /** When the scheduler decided on it, by its clock: the time of the fact is later when it has to read the request first. Milliseconds since 1970. */
  readonly decidedMs: number;
  /** Undefined while it holds it. */
  readonly to: RunFact | undefined;
}

/** Of all runs, in the order of the log. */
export const slotHoldsIn = (runs: LoggedRuns): SlotHold[] =>
  [...runs.values()].flatMap(holdsOf).sort((one, other) => one.from.sequence - other.from.sequence);

/** Whether the log has its beginning before this position, and its end behind it. */
export const isHeldAt = ({ from, to }: SlotHold, sequence: number): boolean =>
  from.sequence < sequence && (to?.sequence ?? Infinity) > sequence;

const holdsOf = ({ key, facts, situations }: LoggedRun): SlotHold[] =>
  facts.flatMap((from) => {
    const { event, sequence } = from;
    const request = situations[0]?.run.request;
    const waiting = situations.findLast((one) => one.sequence < sequence)?.run;
    if (event.type !== 'RunAssigned' || !request) return [];
    const { reason } = event.data;
    const left = situations.find((one) => one.sequence > sequence && !isExecuting(one.run))?.sequence;
    return [
      {
        run: key.run_id,
        org_id: key.org_id,
        request,
        gpu: event.data.gpu,
        slot: `${event.executor_id} ${event.data.slot}`,
        from,
        decidedMs:
          waiting && reason
            ? Date.parse(waitsSince(waiting)) + reason.waited_s * 1_000
            : Date.parse(event.time),
        to: facts.find((fact) => fact.sequence === left),
      },
    ];
  });
