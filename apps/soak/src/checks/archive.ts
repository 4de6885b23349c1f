import { outageMsIn } from '../cluster/outages.ts';
import { refusalOf } from '../clients/client-context.ts';
import type { Answer, Exchange } from '../clients/client-records.ts';
import type { ArchiveFault } from '../faults/archive-faults.ts';
import type { Check, Evidence, Finding } from '../evidence/evidence.ts';
import type { LoggedRun } from '../evidence/logged-run.ts';

/** Where objects cannot be read, only the runs of their organisation wait, and it is named. The archive ends with all that the log had. */
export const archive: Check = (evidence) => [
  ...wronglyRefused(evidence),
  ...wrongHistories(evidence),
  ...wronglyNamed(evidence),
  ...notArchived(evidence),
];

/** A late answer, and what a gateway that was paused takes for one. */
const SETTLE_MS = 15_000;

const wronglyRefused = (evidence: Evidence): Finding[] =>
  evidence.records.exchanges.flatMap((exchange) => {
    const { answer, run, gateway, kind, org_id, sentAt: from, seenAt: to } = exchange;
    if (answer.kind !== 'refused' || refusalOf(answer) !== 'archive is away') return [];
    const isFailing = evidence.archive.faults.some(
      (fault) => fault.org_ids.includes(org_id) && fault.from <= to && from <= fault.to + SETTLE_MS,
    );
    // A stranger has nothing there.
    if ((isFailing && kind !== 'foreign') || wasGatewayAway(evidence, from, to)) return [];
    return [
      { run, at: from, message: `${gateway} could not read the archive of ${org_id}, which was there.` },
    ];
  });

const wasGatewayAway = ({ faults }: Evidence, from: number, to: number): boolean =>
  outageMsIn(faults.outages, { roles: ['gateway'], settleMs: SETTLE_MS, from, to }) > 0;

/** Each fact that was there in its order, or a gap, which only a missing object explains. */
const wrongHistories = ({ records, runs, archive: { faults } }: Evidence): Finding[] =>
  records.exchanges.flatMap(({ answer, run, gateway, sentAt }) => {
    const logged = answer.kind === 'history' ? runs.get(run ?? '') : undefined;
    if (answer.kind !== 'history' || !logged) return [];
    const isExplained = faults.some(
      ({ missing, from }) => missing.has(run ?? '') && from <= sentAt + SETTLE_MS,
    );
    const wrong = wrongIn(answer, logged, isExplained);
    return wrong === undefined ? [] : [{ run, at: sentAt, message: `${gateway} showed a history ${wrong}.` }];
  });

const wrongIn = (
  { facts, hasGap }: Extract<Answer, { kind: 'history' }>,
  logged: LoggedRun,
  isExplained: boolean,
): string | undefined => {
  const expected = [...logged.facts, ...logged.webhookFacts]
    .toSorted((one, other) => one.sequence - other.sequence)
    .map(({ sequence, event }) => `${sequence} ${event.type}`);
  const unknown = facts.find((fact) => !expected.includes(fact));
  if (unknown !== undefined) return `with ${unknown}, which the log never had`;
  if (hasGap) return isExplained ? undefined : 'with a gap';
  const begun = expected.slice(0, facts.length);
  return facts.join() === begun.join() ? undefined : `of ${facts.join(', ')} instead of ${begun.join(', ')}`;
};

/** How long a gateway needs until it has noticed, and caught up. */
const CAUGHT_UP_MS = 90_000;

const wronglyNamed = ({
  archive: { named, faults, stillNamed },
  faults: { outages },
}: Evidence): Finding[] => {
  const wrong = named.flatMap(({ at, org_ids }) =>
    org_ids
      .filter((org_id) => !faults.some((fault) => fault.org_ids.includes(org_id) && fault.from <= at))
      // One that is paused takes itself for a store that does not answer.
      .filter(
        () => outageMsIn(outages, { roles: ['gateway'], settleMs: CAUGHT_UP_MS, from: at, to: at + 1 }) === 0,
      )
      .map((org_id) => ({ run: null, at, message: `${org_id} is behind, and its objects are there.` })),
  );
  const still = stillNamed.map((org_id) => ({
    run: null,
    message: `${org_id} is still behind, and its objects are back.`,
  }));
  return [...wrong, ...still];
};

/** Of each run that nobody deleted the archive has every fact that it did not lose for good, and of the others nothing. */
const notArchived = ({ runs, archive: { kept, faults } }: Evidence): Finding[] =>
  kept === undefined
    ? []
    : [...runs].flatMap(([run, logged]) => {
        const own = kept.get(run);
        const found = (message: string): Finding[] => [{ run, message: `The archive ${message}.` }];
        if (own === 'damaged') return found('has a damaged object of it');
        if (logged.isDeleted) return own === undefined ? [] : found('has it, and it was deleted');
        const lostBefore = Math.max(
          ...faults.map(({ replaced, from }) => (replaced.has(run) ? from : -Infinity)),
        );
        const lacks = [...logged.facts, ...logged.webhookFacts].filter(
          ({ sequence, time }) => own?.has(sequence) !== true && Date.parse(time) >= lostBefore,
        );
        const names = lacks.map(({ sequence, event }) => `${event.type} (${sequence})`);
        return lacks.length === 0 ? [] : found(`lacks ${names.join(', ')} of it`);
      });

/** An answer of 404 that was right: the views were lost while the object was missing, so nobody knew of the run. */
export const wasUnknown = (
  { run, seenAt }: Exchange,
  faults: readonly ArchiveFault[],
  outages: Evidence['faults']['outages'],
): boolean =>
  faults.some(
    ({ missing, from }) =>
      missing.has(run ?? '') &&
      from <= seenAt &&
      outages.some(
        ({ kind, to = Infinity }) => (kind === 'empty' || kind === 'restore') && to + SETTLE_MS >= from,
      ),
  );
