import { Retention, RetentionChange } from '@runledger/contracts/http/organisations';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Retention as RetentionRecord } from '@runledger/contracts/catalogue/records';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import { polledClock } from '@runledger/coordination/broker-clock';
import type { Kit } from '../kit.ts';
import { everyEntry, openBucket } from '@runledger/event-log/streams/bucket';
import { operation, route, type Route } from '../door/operation.ts';
import { wrongValue, invalidRequest, Refused } from '../door/refusal.ts';
import {
  DAY_MS,
  retentionOf,
  retentionProblems,
  NOTHING_CHOSEN,
  type InstallationRetention,
} from './retention.decide.ts';
import { changeRecord, type ChangedRecord, type Decide } from './catalogue/records.ts';

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
});

export const retentionRoutes = (
  { config, log }: Kit,
  records: RetentionRecords,
  /** How long output files are kept, in milliseconds. */
  keepsOutputsForMs: () => Promise<number>,
): Route[] => {
  const installation = async (): Promise<InstallationRetention> => {
    const [{ maxAgeMs }, outputsMs] = await Promise.all([readLogAge(log), keepsOutputsForMs()]);
    return { log: maxAgeMs / DAY_MS, runs: config.RUNLEDGER_RUN_RETENTION_DAYS, outputs: outputsMs / DAY_MS };
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
          throw invalidRequest(...result.why.map(({ member, why }) => wrongValue(['body', member], why)));
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

/** What organisations chose. One without a record chose nothing. Every method may throw LogUnavailable. */
export interface RetentionRecords {
  get(org_id: OrgId): Promise<RetentionRecord>;
  /** Of all organisations that have one, as each has it when it is read. One that changes it meanwhile may come twice. */
  all(): AsyncIterable<RetentionRecord>;
  change<No>(org_id: OrgId, decide: Decide<RetentionRecord, No>): Promise<ChangedRecord<RetentionRecord, No>>;
}

const KIND = 'retention';
const keyOf = (org_id: OrgId): string => `${KIND}.${org_id}`;

export const retentionRecords = (log: EventLog): RetentionRecords => {
  const records = openBucket(log, 'CATALOGUE', RetentionRecord);
  return {
    get: async (org_id) => (await records.get(keyOf(org_id)))?.value ?? { org_id, ...NOTHING_CHOSEN },
    all: async function* () {
      for await (const { value } of everyEntry((behind) => records.next(KIND, behind))) yield value;
    },
    change: async (org_id, decide) => {
      // False when it exists, by now.
      await records.create(keyOf(org_id), { org_id, ...NOTHING_CHOSEN });
      return changeRecord(records, keyOf(org_id), decide);
    },
  };
};

/** Since when runs of an organisation are kept: older ones are not. Milliseconds since 1970. */
export type RetentionCutoff = (org_id: string) => Promise<number>;

/** Since when the organisations keep runs, on the clock of the broker. */
export const retentionCutoff = ({ config, log }: Kit, records: RetentionRecords): RetentionCutoff => {
  const brokerNow = polledClock(log, 'RUNS');
  return async (org_id) => {
    const { runs_days } = await records.get(orgId(org_id));
    const days = Math.min(runs_days ?? Infinity, config.RUNLEDGER_RUN_RETENTION_DAYS);
    return (await brokerNow()) - days * DAY_MS;
  };
};
