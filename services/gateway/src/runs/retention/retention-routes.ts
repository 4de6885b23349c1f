import { Retention, RetentionChange } from '@runledger/contracts/http/retention';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { operation, route, type Route } from '../../http/operation.ts';
import { invalid, invalidRequest, Refused } from '../../http/refusal.ts';
import { DAY_MS } from './core/old-runs.ts';
import { retentionOf, retentionProblems, type InstallationRetention } from './core/retention.ts';
import type { RetentionRecords } from './retention-records.ts';

const tag = 'Organisation';

const getRetention = operation({
  id: 'getRetention',
  method: 'GET',
  path: '/retention',
  tag,
  summary: 'Read for how long runs and their output files are kept',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'What the organisation chose, and what it has.', body: Retention },
  refusals: [],
});

const changeRetention = operation({
  id: 'changeRetention',
  method: 'PATCH',
  path: '/retention',
  tag,
  summary: 'Choose for how long runs and their output files are kept',
  description:
    '`runs_days` counts from the creation of a run. Then the run goes, with its inputs, outputs and files: it is 404, and its idempotency key is free. A run that has not ended stays, and one whose final notification is not settled, or of which the log still holds something. `outputs_days` counts from the end of a run. Then its output files go: the run stays, and their addresses are 404. It is applied within minutes, also to runs that are there already.',
  scope: 'admin',
  audit: { action: 'retention.changed' },
  request: { body: RetentionChange },
  response: { status: 200, description: 'What the organisation has now.', body: Retention },
  refusals: [],
});

export interface RetentionRoutes {
  readonly log: EventLog;
  readonly records: RetentionRecords;
  /** Days for which the installation keeps runs. */
  readonly runsDays: number;
  /** How long output files are kept, in milliseconds. */
  readonly keepsOutputsForMs: () => Promise<number>;
}

export const retentionRoutes = ({ log, records, runsDays, keepsOutputsForMs }: RetentionRoutes): Route[] => {
  const installation = async (): Promise<InstallationRetention> => {
    const [{ maxAgeMs }, outputsMs] = await Promise.all([readLogAge(log), keepsOutputsForMs()]);
    return { log: maxAgeMs / DAY_MS, runs: runsDays, outputs: outputsMs / DAY_MS };
  };
  return [
    route(getRetention, async (_request, { org_id }) => {
      const [chosen, kept] = await Promise.all([records.get(org_id), installation()]);
      return retentionOf(chosen, kept);
    }),
    route(changeRetention, async ({ body }, { org_id }) => {
      const kept = await installation();
      const result = await records.change(org_id, async (before) => {
        const record = { ...before, ...withoutOmitted(body) };
        const problems = retentionProblems(body, record, kept);
        return problems.length > 0 ? { kind: 'refused', why: problems } : { kind: 'changed', record };
      });
      switch (result.kind) {
        case 'changed':
          return retentionOf(result.record, kept);
        case 'refused':
          throw invalidRequest(
            ...result.why.map(({ member, why }) =>
              invalid(['body', member], 'value_error', `Value error, ${why}`),
            ),
          );
        case 'none':
        case 'too_busy':
          throw new Refused({
            code: 'changed_concurrently',
            why: 'The retention was changed again and again at the same time. Nothing was done: try again',
          });
      }
    }),
  ];
};

/** Null is a choice, and undefined is none. */
const withoutOmitted = ({
  runs_days,
  outputs_days,
}: RetentionChange): Partial<Record<keyof RetentionChange, number | null>> => ({
  ...(runs_days === undefined ? {} : { runs_days }),
  ...(outputs_days === undefined ? {} : { outputs_days }),
});
