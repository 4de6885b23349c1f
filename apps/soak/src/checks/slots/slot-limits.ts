import { isIdle, type Check, type Violation } from '../../evidence/evidence.ts';
import { isHeldAt, slotHoldsIn, type SlotHold } from './slot-holds.ts';

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
