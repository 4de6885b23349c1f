import { isExecuting, waitsSince, type RunFact, type RunRequest } from '@runledger/contracts/fold/run';
import { isIdle, type Check, type Violation } from '../evidence/evidence.ts';
import type { LoggedRun, LoggedRuns } from '../evidence/logged-run.ts';

const guarantee =
  'No organisation, deployment or concurrency key holds more slots than its limit, and none is counted that nobody holds.';

/** Counted in the order of the log: who has a slot at the moment of an assignment. */
export const slotLimits: Check = ({ runs, sharing }) => {
  const holds = slotHoldsIn(runs);
  return [
    ...holds.flatMap((hold, at): Violation[] => {
      const before = holds.slice(0, at).filter((one) => isHeldAt(one, hold.from.sequence));
      return exceeded(hold, before, sharing.orgLimits).map((message) => ({
        guarantee,
        run: hold.run,
        message,
      }));
    }),
    ...stillCounted(sharing.pools),
  ];
};

const exceeded = (
  { org_id, request, from }: SlotHold,
  before: readonly SlotHold[],
  orgLimits: Readonly<Record<string, number>>,
): string[] => {
  const { deployment_id, concurrency_key: key, concurrency_limit = Infinity } = request;
  const own = before.filter((one) => one.org_id === org_id);
  const ofDeployment = own.filter((one) => one.request.deployment_id === deployment_id);
  const ofKey = ofDeployment.filter((one) => key !== undefined && one.request.concurrency_key === key);
  const kinds = [
    [`Its organisation`, own, orgLimits[org_id] ?? Infinity],
    [`Its deployment`, ofDeployment, concurrency_limit],
    [`Its concurrency key ${key}`, ofKey, 1],
  ] as const;
  return kinds.flatMap(([who, holding, limit]) =>
    holding.length < limit
      ? []
      : [
          `${who} may hold ${limit} slots, and it was assigned at ${from.sequence} while ${holding.map(({ run, slot }) => `${run} held ${slot}`).join(', ')}.`,
        ],
  );
};

/** When every run has ended, no slot is taken. */
const stillCounted = (pools: Parameters<Check>[0]['sharing']['pools']): Violation[] => {
  if (!pools)
    return [{ guarantee, run: null, message: 'No gateway said who holds slots when all runs had ended.' }];
  return pools
    .filter((pool) => !isIdle(pool))
    .map((pool) => ({
      guarantee,
      run: null,
      message: `All runs have ended, and the scheduler counts ${JSON.stringify(pool)}.`,
    }));
};

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
