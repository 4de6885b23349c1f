import { isEnded, displayNumber, type EndedRun, type Run } from '@runledger/contracts/fold/run';
import type { Check, ShownByGateway, Violation } from '../evidence/evidence.ts';
import {
  filesOf,
  lastOf,
  outputsDeletedAt,
  runsOf,
  type LoggedRun,
  type LoggedRuns,
} from '../evidence/logged-run.ts';
import type { ShownRun } from '../clients/client-records.ts';

const guarantee = 'Views equal the fold of the log. Lists are complete and have no duplicates.';

export const views: Check = ({ shown, ...evidence }) => {
  const runs = runsOf(evidence, evidence.org_id);
  return shown.flatMap((gateway) =>
    gateway.failure === undefined
      ? defectsAt(gateway, runs)
      : [{ guarantee, run: null, message: `Long after the last fault: ${gateway.failure}.` }],
  );
};

const defectsAt = ({ gateway, listed, read }: ShownByGateway, runs: LoggedRuns): Violation[] => {
  const violations: Violation[] = [];
  const found = (run: string, message: string): void =>
    void violations.push({ guarantee, run, message: `${gateway} ${message}` });
  const times = Map.groupBy(listed, ({ run }) => run);
  for (const [run, { isDeleted }] of runs) if (!isDeleted && !times.has(run)) found(run, 'does not list it.');
  for (const [run, entries] of times) if (entries.length > 1) found(run, `lists it ${entries.length} times.`);
  for (const [where, entries] of [
    ['lists', listed],
    ['shows', read],
  ] as const) {
    for (const { run, shown } of entries) {
      const logged = runs.get(run);
      const difference = logged ? differenceIn(logged, shown) : 'the log has no such run';
      if (difference !== undefined) found(run, `${where} it wrongly: ${difference}.`);
    }
  }
  return violations;
};

const differenceIn = (logged: LoggedRun, shown: ShownRun | null): string | undefined => {
  if (logged.isDeleted) return shown === null ? undefined : 'it was deleted';
  const run = lastOf(logged);
  if (run === undefined) return 'the log has no such run';
  if (shown === null) return 'the answer is 404';
  const expected = expectedOf(run, logged);
  if (shown.files.length !== (outputsDeletedAt(logged) === undefined ? filesOf(logged).length : 0))
    return `it has ${shown.files.length} files`;
  const wrong = (Object.keys(expected) as (keyof typeof expected)[]).filter(
    (name) => JSON.stringify(shown[name]) !== JSON.stringify(expected[name]),
  );
  if (wrong.length === 0) return undefined;
  return wrong
    .map((name) => `${name} is ${JSON.stringify(shown[name])}, expected ${JSON.stringify(expected[name])}`)
    .join(', ');
};

/** Made from the fold, without the gateway's code. */
const expectedOf = (run: Run, { webhook }: LoggedRun): Omit<ShownRun, 'files'> => ({
  status: run.status,
  updated_at: run.updated_at,
  created_at: run.created_at,
  started_at: 'started_at' in run ? run.started_at : null,
  ended_at: isEnded(run) ? run.ended_at : null,
  number: displayNumber(run),
  compute_function_call_id: run.attempt === null ? null : `${run.run_id}.${run.attempt.number}`,
  webhook_status: run.request.webhook === null ? null : (webhook?.status ?? 'not-started'),
  finished: isEnded(run),
  end_reason: isEnded(run) ? run.end_reason : null,
  rerun_of: run.request.rerun_of,
  texts: isEnded(run) ? textsOf(run) : [],
  missing: isEnded(run) && run.deleted_outputs ? ['outputs deleted'] : [],
});

/** What a program printed whose list of outputs is too large for an event. */
const LISTED = 60;

const textsOf = ({ run_id, attempt, outputs }: EndedRun): string[] =>
  outputs === null
    ? [
        ...Array.from({ length: LISTED }, (_, at) => `${run_id} line ${at + 1}`),
        `${run_id}.${attempt?.number}`,
      ]
    : outputs.flatMap(({ data }) => data['text'] ?? []).filter((text) => typeof text === 'string');
