import { newUuid } from '@runledger/contracts/ids';
import { fileRecords, uploadKey } from '../../src/files/file-records.ts';
import { newPartKey } from '../../src/files/receive-upload.ts';
import { aKey } from '../fixtures/gateway/a-tenant.ts';
import { call } from '../fixtures/requests/requests.ts';
import { get, send, type Provoke, type Scene } from './a-scene.ts';

const create = async (scene: Scene, path: string, body: object) =>
  (await send(scene, 'POST', path, { key: scene.admin, body })).body;

const aWorkflow = async (scene: Scene): Promise<string> =>
  String((await create(scene, '/workflows', { name: 'a' })).id);

const MACHINE = { name: 'a', gpu: 'A100', runner: { kind: 'program', program: 'a' } };
const ARCHIVED = { archived: true };

const beginUpload = async ({ gateway, tenant }: Scene): Promise<string> => {
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': '10000' };
  const { body } = await call(`${gateway.api}/files/uploads`, tenant.key, { method: 'POST', headers });
  return String(body.url);
};

const sendBytes = (url: string, { tenant }: Scene, offset: number, bytes: number) =>
  call(url, tenant.key, {
    method: 'PATCH',
    headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
    body: 'x'.repeat(bytes),
  });

/** As after as many interruptions as an upload may have. */
const interrupt = async ({ bed, tenant }: Scene, url: string): Promise<number> => {
  const { uploads } = fileRecords(bed.log);
  const entry = await uploads.get(uploadKey({ org_id: tenant.org_id, id: url.split('/').at(-1) ?? '' }));
  if (!entry) throw new Error('there is no such upload');
  const parts = Array.from({ length: 2_000 }, () => ({ key: newPartKey(), bytes: 1 }));
  await uploads.update(entry.key, { ...entry.value, parts }, entry.revision);
  return parts.length;
};

/** Of each of these codes of records, a request that is refused with it. */
export const REFUSED_FOR_RECORDS = {
  deployment_not_found: get((id) => `/deployments/${id}`),
  machine_not_found: get((id) => `/machines/${id}`),
  workflow_not_found: get((id) => `/workflows/${id}`),
  workflow_version_not_found: async (scene) =>
    send(scene, 'GET', `/workflows/${await aWorkflow(scene)}/versions/${newUuid()}`, { key: scene.admin }),
  schedule_not_found: get((id) => `/schedules/${id}`),
  file_not_found: get((id) => `/files/${id}`),
  upload_not_found: get((id) => `/files/uploads/${id}`),
  model_not_found: get(() => `/models/${'a'.repeat(64)}`),
  api_key_not_found: (scene) => send(scene, 'DELETE', `/api-keys/${newUuid()}`, { key: scene.admin }),
  organisation_not_found: (scene) =>
    send(scene, 'DELETE', `/organisations/${newUuid()}?name=a`, { key: scene.operator }),
  workflow_archived: async (scene) => {
    const { admin: key } = scene;
    const path = `/workflows/${await aWorkflow(scene)}`;
    await send(scene, 'PATCH', path, { key, body: ARCHIVED });
    return send(scene, 'POST', `${path}/versions`, { key, body: { workflow: {} } });
  },
  record_in_use: (scene) =>
    send(scene, 'PATCH', `/machines/${scene.tenant.machine.id}`, { key: scene.admin, body: ARCHIVED }),
  record_not_archived: (scene) =>
    send(scene, 'DELETE', `/machines/${scene.tenant.machine.id}`, { key: scene.admin }),
  record_archived_lately: async (scene) => {
    const { admin: key } = scene;
    const path = `/machines/${(await create(scene, '/machines', MACHINE)).id}`;
    await send(scene, 'PATCH', path, { key, body: ARCHIVED });
    return send(scene, 'DELETE', path, { key });
  },
  api_key_too_deep: async (scene) => {
    let key = await aKey(scene.bed.log, scene.tenant, {});
    for (;;) {
      const made = await send(scene, 'POST', '/api-keys', { key, body: { name: 'below' } });
      if (made.status !== 201) return made;
      key = String(made.body.key);
    }
  },
  workflow_too_large: async (scene) =>
    send(scene, 'POST', `/workflows/${await aWorkflow(scene)}/versions`, {
      key: scene.admin,
      body: { workflow: { text: 'x'.repeat(600_000) } },
    }),
  upload_offset_differs: async (scene) => sendBytes(await beginUpload(scene), scene, 5, 5),
  upload_too_long: async (scene) => sendBytes(await beginUpload(scene), scene, 0, 10_001),
  upload_interrupted_too_often: async (scene) => {
    const url = await beginUpload(scene);
    return sendBytes(url, scene, await interrupt(scene, url), 1);
  },
} as const satisfies Readonly<Record<string, Provoke>>;
