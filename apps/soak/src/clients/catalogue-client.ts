import { sendUntilAnswered, SHORTAGES, type ClientContext } from './client-context.ts';
import type { CreatedRecord } from './client-records.ts';

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

export const catalogueClient = (context: ClientContext): CatalogueClient => ({
  createVersion: async () => void (await createVersion(context)),
  deployAndDelete: async () => {
    const version = await createVersion(context);
    const requests = noticingLost(context);
    const deployment = version && (await createDeployment(requests, version));
    // Another one, which nobody knows, may use the version.
    if (!version || !deployment || requests.hasLost()) return;
    const own = [deployment, version];
    for (const record of own) await archive(context, record);
    // The newest version cannot be deleted.
    if (!(await createVersion(context))) return;
    await context.rest(ARCHIVED_FOR_MS);
    for (const record of own) await deleteRecord(context, record);
    for (const record of own) await useDeleted(context, record);
  },
});

const noticingLost = (context: ClientContext): ClientContext & { readonly hasLost: () => boolean } => {
  let lost = false;
  return {
    ...context,
    hasLost: () => lost,
    send: async (request) => {
      const answer = await context.send(request);
      lost ||= answer.kind === 'lost';
      return answer;
    },
  };
};

const create = async (
  context: ClientContext,
  path: string,
  body: object,
  members: CreatedRecord['members'],
): Promise<CreatedRecord | undefined> => {
  const answer = await sendUntilAnswered(context, { ...about, kind: 'create', method: 'POST', path, body });
  if (answer?.kind !== 'created') return undefined;
  const { id } = answer;
  const record: CreatedRecord = { path: `${path}/${id}`, members: { id, ...members }, state: 'kept' };
  context.catalogue.push(record);
  return record;
};

const createVersion = (context: ClientContext): Promise<CreatedRecord | undefined> => {
  const path = `/workflows/${context.organisation.workflow_id}/versions`;
  const workflow = { created_at: context.now(), padding: 'x'.repeat(LARGE) };
  return create(context, path, { workflow }, { workflow });
};

const createDeployment = (
  context: ClientContext,
  { members }: CreatedRecord,
): Promise<CreatedRecord | undefined> => {
  const { machine_id } = context.organisation;
  const deployment = { workflow_version_id: members['id'], machine_id, name: `of ${String(members['id'])}` };
  return create(context, '/deployments', deployment, deployment);
};

const archive = async (context: ClientContext, { path }: CreatedRecord): Promise<void> => {
  const body = { archived: true };
  await sendUntilAnswered(context, { ...about, kind: 'archive', method: 'PATCH', path, body });
};

const deleteRecord = async (context: ClientContext, record: CreatedRecord): Promise<void> => {
  record.state = 'deleting';
  const deletion = { ...about, kind: 'delete_record', method: 'DELETE', path: record.path } as const;
  const answer = await sendUntilAnswered(context, deletion, { until: NOT_YET });
  // The answer of the first request may have been lost: another one finds nothing then.
  const isGone = answer?.kind === 'done' || (answer?.kind === 'refused' && answer.status === 404);
  if (isGone) record.state = 'deleted';
};

const useDeleted = async (context: ClientContext, { path, state }: CreatedRecord): Promise<void> => {
  if (state !== 'deleted') return;
  const use = { ...about, kind: 'after_deletion', path } as const;
  await sendUntilAnswered(context, { ...use, method: 'GET' });
  await sendUntilAnswered(context, { ...use, method: 'PATCH', body: { archived: false } });
};
