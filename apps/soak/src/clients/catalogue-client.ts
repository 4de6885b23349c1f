import { now } from '../cluster/clock.ts';
import {
  ANSWER_WITHIN_MS,
  beforeRetry,
  sendUntilAnswered,
  SHORTAGES,
  type ClientContext,
  refusalOf,
} from './client-context.ts';
import type { Answer, CreatedRecord } from './client-records.ts';

/** Creates records of the catalogue, and deletes some of them when that is allowed. */
export interface CatalogueClient {
  /** Creates a version of the organisation's workflow. */
  readonly createVersion: () => Promise<void>;
  /** Creates a version and a deployment of it, archives both, creates a newer version, and deletes both. */
  readonly deployAndDelete: () => Promise<void>;
}

/** So long a record must have been archived. */
const ARCHIVED_FOR_MS = 61_000;
/** More bytes than a record may hold. */
const LARGE = 5_000;

/** It is in use, or it was not archived for long enough. */
const NOT_YET = new Set([...SHORTAGES, 'conflict'] as const);

const about = { request: 0, run: null } as const;

/** `mostRecords`: that may be there at the same time, so that the quota of the organisation is not used up. */
export const catalogueClient = (client: ClientContext, mostRecords: number): CatalogueClient => {
  const context: CatalogueContext = { ...client, quota: { left: mostRecords } };
  return {
    createVersion: async () => void (await createVersion(context)),
    deployAndDelete: async () => {
      const version = await createVersion(context);
      const deployment = version && (await createDeployment(context, version));
      if (!version || !deployment) return;
      const own = [deployment, version];
      for (const record of own) await archive(context, record);
      // The newest version cannot be deleted.
      if (!(await createVersion(context))) return;
      await context.rest(ARCHIVED_FOR_MS);
      for (const record of own) await deleteRecord(context, record);
      for (const record of own) await useDeleted(context, record);
    },
  };
};

interface CatalogueContext extends ClientContext {
  /** For so many more records. One that may be there because an answer was lost takes its part too. */
  readonly quota: { left: number };
}

interface NewRecord {
  readonly path: string;
  readonly body: object;
  readonly members: CreatedRecord['members'];
}

const createVersion = async (context: CatalogueContext): Promise<CreatedRecord | undefined> => {
  const path = `/workflows/${context.organisation.workflow_id}/versions`;
  while (!context.signal.aborted) {
    const workflow = { created_at: now(), padding: 'x'.repeat(LARGE) };
    const created = await create(context, { path, body: { workflow }, members: { workflow } });
    if (created !== 'again') return created;
    await beforeRetry(context);
  }
  return undefined;
};

/** Only once: another one, which nobody knows, could use the version. */
const createDeployment = async (
  context: CatalogueContext,
  { members }: CreatedRecord,
): Promise<CreatedRecord | undefined> => {
  const { machine_id } = context.organisation;
  const body = { workflow_version_id: members['id'], machine_id, name: `of ${String(members['id'])}` };
  const created = await create(context, { path: '/deployments', body, members: body });
  return created === 'again' ? undefined : created;
};

/** Undefined when there is no quota, and when it is refused for good. */
const create = async (
  { quota, send, gateway, catalogue }: CatalogueContext,
  { path, body, members }: NewRecord,
): Promise<CreatedRecord | 'again' | undefined> => {
  if (quota.left < 1) return undefined;
  quota.left -= 1;
  const request = { ...about, kind: 'create', method: 'POST', path, body } as const;
  const answer = await send({ ...request, gateway: gateway(), withinMs: ANSWER_WITHIN_MS });
  if (answer.kind === 'created') {
    const { id } = answer;
    const record: CreatedRecord = { path: `${path}/${id}`, members: { id, ...members }, state: 'kept' };
    catalogue.push(record);
    return record;
  }
  if (isSurelyNotThere(answer)) quota.left += 1;
  const isShortage = answer.kind === 'refused' && SHORTAGES.has(refusalOf(answer));
  return answer.kind === 'lost' || isShortage ? 'again' : undefined;
};

/** Nobody got the request, or a gateway says so; one that lost its broker meanwhile does not know it. */
const isSurelyNotThere = (answer: Answer): boolean =>
  (answer.kind === 'refused' && refusalOf(answer) !== 'unavailable') ||
  (answer.kind === 'lost' && answer.why.includes('ECONNREFUSED'));

const archive = async (context: ClientContext, { path }: CreatedRecord): Promise<void> => {
  const body = { archived: true };
  await sendUntilAnswered(context, { ...about, kind: 'archive', method: 'PATCH', path, body });
};

const deleteRecord = async (context: CatalogueContext, record: CreatedRecord): Promise<void> => {
  record.state = 'deleting';
  const deletion = { ...about, kind: 'delete_record', method: 'DELETE', path: record.path } as const;
  const answer = await sendUntilAnswered(context, deletion, { until: NOT_YET });
  // The answer of the first request may have been lost: another one finds nothing then.
  const isGone = answer?.kind === 'done' || (answer?.kind === 'refused' && answer.status === 404);
  if (!isGone) return;
  record.state = 'deleted';
  context.quota.left += 1;
};

const useDeleted = async (context: ClientContext, { path, state }: CreatedRecord): Promise<void> => {
  if (state !== 'deleted') return;
  const use = { ...about, kind: 'after_deletion', path } as const;
  await sendUntilAnswered(context, { ...use, method: 'GET' });
  await sendUntilAnswered(context, { ...use, method: 'PATCH', body: { archived: false } });
};
