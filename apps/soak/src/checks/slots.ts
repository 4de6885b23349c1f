import { forgottenBefore, runsOf, type LoggedRun } from '../evidence/logged-run.ts';
import { judgeFacts, type JudgedFact } from '@runledger/testing/invariants';
import { whyTooSlow, type Outage } from '../cluster/outages.ts';
import { GREEDY_S } from '../clients/share-slots.ts';
import { isIdle, type Check, type Evidence, type Finding, type Violation } from '../evidence/evidence.ts';
import { isLimited } from '../faults/limit-changes.ts';

/** A fact with what comes of its attempt further on. */
interface LoggedFact extends JudgedFact {
  readonly sequence: number;
  /** Of an assignment: whether its attempt began. */
  readonly begins: boolean;
  /** Of an assignment: where its attempt ended. */
  readonly left: number;
}

/** All that facts alone show, in the order of the log: as the simulator judges them. */
export const violationsInFacts = ({ runs, sharing, limits, size }: Evidence): Violation[] => {
  const forgotten = forgottenBefore(limits, size);
  const facts = [...runs.values()].flatMap(factsOf).toSorted((one, other) => one.sequence - other.sequence);
  const terms = facts.flatMap(({ event, sequence }) =>
    event.type === 'RunAssigned' ? [{ term: event.data.term ?? 0, sequence }] : [],
  );
  const violations: Violation[] = [];
  const judge = judgeFacts<LoggedFact>({
    violate: (invariant, message, run) => void violations.push({ invariant, run, message }),
    nameOf: (id) => id,
    limitOf: (org_id) => sharing.orgLimits[org_id] ?? Infinity,
    // The archive has what the log forgets.
    isLost: () => false,
    // A later leader decided before it ended, and it never began: the later leader did not count it.
    isVoid: ({ event, begins, left }) =>
      event.type === 'RunAssigned' &&
      !begins &&
      terms.some(({ term, sequence }) => term > (event.data.term ?? 0) && sequence < left),
    isWhole: (run_id) => Date.parse(runs.get(run_id)?.facts[0]?.time ?? '') >= forgotten,
  });
  for (const fact of facts) judge(fact);
  return violations;
};

const factsOf = ({ facts, situations }: LoggedRun): LoggedFact[] => {
  const runAt = new Map(situations.map(({ sequence, run }) => [sequence, run] as const));
  return facts.flatMap(({ event, sequence }, at) => {
    const after = runAt.get(sequence);
    // Deletions are judged by what reads show.
    if (!after) return [];
    const later = facts.slice(at + 1).filter((fact) => fact.event.attempt === event.attempt);
    const before = runAt.get(facts[at - 1]?.sequence ?? 0);
    const begins = later.some((fact) => fact.event.type === 'RunStarted');
    return { event, sequence, before, after, begins, left: later.at(-1)?.sequence ?? Infinity };
  });
};

/** When every run has ended, no slot is taken. */
export const slots: Check = ({ sharing: { pools } }): Finding[] =>
  pools
    ? pools
        .filter((pool) => !isIdle(pool))
        .map((pool) => ({
          run: null,
          message: `All runs have ended, and the scheduler counts ${JSON.stringify(pool)}.`,
        }))
    : [{ run: null, message: 'No gateway said who holds slots when all runs had ended.' }];

/** For an assignment that was being stored when the drain was answered. */
const STORED_WITHIN_MS = 1_000;

export const drains: Check = ({ records, runs }) =>
  [...runs].flatMap(([run, { facts }]) =>
    facts.flatMap(({ event, time }) => {
      if (event.type !== 'RunAssigned') return [];
      const at = Date.parse(time);
      const name = event.executor_id?.split('.')[0];
      const drain = records.drains.find(
        (one) => one.name === name && at > one.drainedAt + STORED_WITHIN_MS && at < one.resumedAt,
      );
      if (drain === undefined) return [];
      const since = new Date(drain.drainedAt).toISOString();
      const message = `It was assigned to ${event.executor_id} at ${time}, and ${name} was drained since ${since}.`;
      return [{ run, message }];
    }),
  );

/** With fewer slots than organisations, two runs of each greedy one may go first, and the last of them one after the other. */
const MOST_PASSES = 4;

/** Each greedy organisation has more runs waiting than could start in this time: a run of the modest one that had to wait for them would be late. */
export const fairShare: Check = (evidence) =>
  [...runsOf(evidence, evidence.sharing.modest_id)].flatMap(([run, { facts }]) => {
    const [from, to] = [facts[0], facts.find(({ event }) => event.type === 'RunAssigned')];
    if (!from || !to) return [];
    const span = { from: Date.parse(from.time), to: Date.parse(to.time) };
    if (isLimited(evidence.limits, ['full', 'nearly_full'], span, 'RUNS')) return [];
    const settleMs = evidence.size.heartbeatPeriodS * 3_000;
    const filter = { roles: ['broker', 'scheduler', 'gpu-executor'], settleMs, ...span } as const;
    const why = whyTooSlow(outagesAndDrains(evidence), filter, (1 + MOST_PASSES) * GREEDY_S * 1_000);
    return why === undefined ? [] : [{ run, message: `Its wait for a slot ${why}` }];
  });

const outagesAndDrains = ({ faults, records }: Evidence): Outage[] => {
  const drained = records.drains.map(({ name, drainedAt, resumedAt }): Outage => ({
    part: name,
    role: 'gpu-executor',
    kind: 'stop',
    from: drainedAt,
    to: resumedAt,
  }));
  return [...faults.outages, ...drained];
};
