import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { readRun } from '@runledger/event-log/read/read-run';
import { assigned } from '@runledger/testing/run-events';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aCatalogueApi,
  aDeploymentWith,
  type CatalogueApi,
  type Client,
} from '../../records/catalogue/a-catalogue.ts';
import { anAttemptOf, numbered, upload as store } from '../attempts/an-upload.ts';
import { A_SECRET_KEY } from '../../fixtures/gateway/a-gateway.ts';
import { outputUrls } from '@runledger/webhooks/output-urls';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';

let catalogue: CatalogueApi;
let admin: Client;
let key: string;
let deployment_id: string;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
  ({ key } = catalogue.bed.tenant);
  ({ deployment_id } = await aDeploymentWith(admin, [
    { name: 'photo', type: 'image', required: true },
    { name: 'mask', type: 'file' },
    { name: 'note', type: 'string' },
  ]));
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const queue = (inputs: object): Promise<ApiAnswer> =>
  post(`${catalogue.api}/run/deployment/queue`, key, { deployment_id, inputs });
const inputsOf = async (run_id: string) =>
  (await admin.get(`/run/${run_id}?include=inputs`)).body.workflow_inputs;
const upload = (bytes = randomBytes(100), apiKey = key): Promise<ApiAnswer> =>
  call(`${catalogue.api}/files?filename=photo.png`, apiKey, {
    method: 'POST',
    body: bytes,
    headers: { 'content-type': 'image/png' },
  });
const problemsOf = ({ status, body }: ApiAnswer): unknown => [status, body.detail];
const valueError = (name: string, msg: string) => ({
  loc: ['body', 'inputs', name],
  type: 'value_error',
  msg: `${msg.slice(0, 1).toUpperCase()}${msg.slice(1)}`,
});
const runOf = async ({ body }: ApiAnswer) => {
  const run = { org_id: orgId(catalogue.bed.tenant.org_id), run_id: runId(body.run_id) };
  const read = await readRun(catalogue.bed.log, run);
  if (read.kind !== 'found') throw new Error(read.kind);
  return { key: run, request: read.run.request };
};

describe('an input that is a file', () => {
  it('is an uploaded file, by its id', async () => {
    const { body: file } = await upload();
    const queued = await queue({ photo: file.id, note: 'x' });
    expect(queued.status).toBe(200);
    expect(await inputsOf(queued.body.run_id)).toEqual({ photo: file.id, note: 'x' });
    expect((await runOf(queued)).request.file_inputs).toEqual(['photo']);
  });

  it('is refused when the id is unknown, of another organisation, or deleted', async () => {
    const id = newUuid();
    const gone = 'the organisation has no file with this id: it was deleted or has expired. Upload it';
    expect(problemsOf(await queue({ photo: id }))).toEqual([422, [valueError('photo', gone)]]);
    const other = await upload(randomBytes(10), (await catalogue.bed.newTenant()).key);
    expect(problemsOf(await queue({ photo: other.body.id }))).toEqual([422, [valueError('photo', gone)]]);
    const mine = await upload();
    await call(`${catalogue.api}/files/${mine.body.id}`, key, { method: 'DELETE' });
    expect(problemsOf(await queue({ photo: mine.body.id }))).toEqual([422, [valueError('photo', gone)]]);
  });

  it('is a URL that the policy allows', async () => {
    catalogue.bed.dns.set('pictures.example', ['93.184.216.34']);
    catalogue.bed.dns.set('inside.example', ['10.0.0.7']);
    const url = 'https://pictures.example/a.png?size=2';
    const queued = await queue({ photo: url });
    expect(await inputsOf(queued.body.run_id)).toEqual({ photo: url });
    for (const forbidden of [
      'http://127.0.0.1/a.png',
      'http://169.254.169.254/latest/meta-data',
      'http://[::1]/a.png',
      'https://inside.example/a.png',
      'https://user:password@pictures.example/a.png',
    ]) {
      const { status, body } = await queue({ photo: forbidden });
      expect([forbidden, status, body.detail[0].loc]).toEqual([forbidden, 422, ['body', 'inputs', 'photo']]);
    }
  });

  it('is the address of a file, or of an output, of this installation', async () => {
    const { body: file } = await upload();
    const mine = await queue({ photo: file.url });
    expect(await inputsOf(mine.body.run_id)).toEqual({ photo: file.id });
    const bytes = numbered(5_000);
    const { key: run } = await runOf(mine);
    const attempt = await anAttemptOf(catalogue.bed, run, bytes.length);
    const output = await store({ url: catalogue.api.replace(/\/api$/, '') }, attempt, bytes);
    const address = `${catalogue.api.replace(/\/api$/, '')}/outputs/${output.body.key}/file.png`;
    const next = await queue({ photo: address });
    const { photo } = await inputsOf(next.body.run_id);
    expect((await call(`${catalogue.api}/files/${photo}`, key)).body).toMatchObject({
      filename: 'file.png',
      content_type: 'image/png',
      sha256: output.body.sha256,
    });
    const gone = await queue({ photo: address.replace('file.png', 'other.png') });
    expect(gone).toMatchObject({
      status: 422,
      body: { detail: [{ msg: expect.stringContaining('is gone') }] },
    });
  });

  it('is the address of an output only while the address is valid', async () => {
    const environment = { RUNLEDGER_OUTPUT_URL_TTL_S: '600' };
    const gateway = await catalogue.bed.gateway({ environment });
    const bytes = numbered(1_000);
    const { key: run } = await runOf(await queue({ photo: (await upload()).body.id }));
    const output = await store(gateway, await anAttemptOf(catalogue.bed, run, bytes.length), bytes);
    const addressAt = (ms: number): string =>
      outputUrls({
        publicUrl: () => gateway.url,
        keys: [A_SECRET_KEY],
        ttlS: 600,
        now: () => new Date(ms),
      }).of({
        key: output.body.key,
        filename: 'file.png',
      });
    const queueAt = (photo: string): Promise<ApiAnswer> =>
      post(`${gateway.api}/run/deployment/queue`, key, { deployment_id, inputs: { photo } });
    const fresh = addressAt(Date.now());
    expect((await queueAt(fresh)).status).toBe(200);
    const expired = await queueAt(addressAt(Date.now() - 3_600_000));
    expect(problemsOf(expired)).toEqual([
      422,
      [
        expect.objectContaining({
          msg: expect.stringContaining('This address has expired: read its run again'),
        }),
      ],
    ]);
    const unsigned = await queueAt(fresh.replace(/\?.*/, ''));
    expect(problemsOf(unsigned)).toEqual([
      422,
      [expect.objectContaining({ msg: expect.stringContaining('is gone') })],
    ]);
  });

  it('is a data URL, which becomes a file', async () => {
    const bytes = randomBytes(300_000);
    const queued = await queue({ photo: `data:image/png;base64,${bytes.toString('base64')}` });
    expect(queued.status).toBe(200);
    const { photo } = await inputsOf(queued.body.run_id);
    const { body: file } = await call(`${catalogue.api}/files/${photo}`, key);
    expect(file).toMatchObject({ filename: 'file.png', content_type: 'image/png', bytes: 300_000 });
    const text = await inputsOf((await queue({ photo: 'data:,a%20fox' })).body.run_id);
    expect((await call(`${catalogue.api}/files/${text.photo}`, key)).body).toMatchObject({ bytes: 5 });
    const wrong = await queue({ photo: 'data:image/png;base64,!!!' });
    expect(wrong).toMatchObject({
      status: 422,
      body: { detail: [{ msg: expect.stringContaining('base64') }] },
    });
  });

  it.each([['a fox'], ['file:///etc/passwd'], [7], ['../../x']])('is not %j', async (value) => {
    expect(problemsOf(await queue({ photo: value }))).toEqual([
      422,
      [valueError('photo', 'send the id of an uploaded file, an http or https URL, or a data URL')],
    ]);
  });

  it('is none of a rerun whose own inputs have no file', async () => {
    const { deployment_id: optional } = await aDeploymentWith(admin, [{ name: 'mask', type: 'file' }]);
    const { body: file } = await upload();
    const inputs = { deployment_id: optional, inputs: { mask: file.id } };
    const { body } = await post(`${catalogue.api}/run/deployment/queue`, key, inputs);
    const again = await post(`${catalogue.api}/run/${body.run_id}/rerun`, key, { inputs: { note: 'x' } });
    const { inputs: queued, file_inputs } = (await runOf(again)).request;
    expect([queued, file_inputs]).toEqual([{ note: 'x' }, undefined]);
  });

  it('is kept for a rerun, which is refused when the file is gone', async () => {
    const { body: file } = await upload();
    const { body } = await queue({ photo: file.id });
    const again = await post(`${catalogue.api}/run/${body.run_id}/rerun`, key);
    expect((await runOf(again)).request.file_inputs).toEqual(['photo']);
    await call(`${catalogue.api}/files/${file.id}`, key, { method: 'DELETE' });
    expect((await post(`${catalogue.api}/run/${body.run_id}/rerun`, key)).status).toBe(422);
  });

  it('must have a short name, when there are many', async () => {
    const workflow_id = (await admin.post('/workflows', { name: 'many' })).body.id;
    const inputs = Array.from({ length: 20 }, (_, index) => ({
      name: `a long name of an image ${index}`,
      type: 'image',
    }));
    const version = await admin.post(`/workflows/${workflow_id}/versions`, { workflow: {}, inputs });
    expect(version.status).toBe(422);
    expect(version.body.detail[0].msg).toContain('at most 320 bytes as JSON');
  });
});

describe('an input that is a list of files', () => {
  let lists: string;
  beforeAll(async () => {
    ({ deployment_id: lists } = await aDeploymentWith(admin, [
      { name: 'frames', type: 'image[]', required: true, max_items: 200 },
      { name: 'more', type: 'file[]', default: [] },
      { name: 'photo', type: 'image' },
      { name: 'caption', type: 'string' },
    ]));
  });
  const queueLists = (inputs: object): Promise<ApiAnswer> =>
    post(`${catalogue.api}/run/deployment/queue`, key, { deployment_id: lists, inputs });

  it('has each form that one file has, in its order, also the same file twice', async () => {
    const { body: file } = await upload();
    const url = 'https://pictures.example/a.png';
    catalogue.bed.dns.set('pictures.example', ['93.184.216.34']);
    const queued = await queueLists({
      frames: [file.url, url, 'data:,a%20fox', file.id],
      caption: file.id,
    });
    const { frames, ...others } = await inputsOf(queued.body.run_id);
    expect(frames).toEqual([file.id, url, expect.any(String), file.id]);
    expect((await call(`${catalogue.api}/files/${frames[2]}`, key)).body).toMatchObject({ bytes: 5 });
    expect(others).toEqual({ more: [], caption: file.id });
    expect((await runOf(queued)).request.file_inputs).toEqual(['frames', 'more']);
    const again = await post(`${catalogue.api}/run/${queued.body.run_id}/rerun`, key);
    expect((await inputsOf(again.body.run_id)).frames).toEqual(frames);
  });

  it('may be empty', async () => {
    const queued = await queueLists({ frames: [] });
    expect(await inputsOf(queued.body.run_id)).toEqual({ frames: [], more: [] });
  });

  it('is refused item by item', async () => {
    const { body: file } = await upload();
    const unknown = newUuid();
    expect(problemsOf(await queueLists({ frames: [file.id, 'fox.png'] }))).toEqual([
      422,
      [
        {
          loc: ['body', 'inputs', 'frames', 1],
          type: 'value_error',
          msg: 'Send the id of an uploaded file, an http or https URL, or a data URL',
        },
      ],
    ]);
    const gone = await queueLists({ frames: [unknown, file.id, 'http://127.0.0.1/a.png'] });
    expect(gone.status).toBe(422);
    expect(gone.body.detail.map(({ loc }: { readonly loc: unknown }) => loc)).toEqual([
      ['body', 'inputs', 'frames', 0],
      ['body', 'inputs', 'frames', 2],
    ]);
  });

  it('is no single file, and a single file is no list', async () => {
    const { body: file } = await upload();
    const wrong = await queueLists({ frames: file.id, photo: [file.id] });
    expect(problemsOf(wrong)).toEqual([
      422,
      [
        { ...valueError('frames', ''), msg: expect.stringContaining('send a list, also of one file') },
        { ...valueError('photo', ''), msg: expect.stringContaining('one file, and not a list') },
      ],
    ]);
  });

  it('has a bounded number of files, as have all of a run together', async () => {
    const { body: file } = await upload();
    const files = (count: number): unknown[] => Array.from({ length: count }, () => file.id);
    expect(problemsOf(await queueLists({ frames: files(201) }))).toEqual([
      422,
      [
        {
          loc: ['body', 'inputs', 'frames'],
          type: 'too_long',
          msg: 'Send at most 200 items',
        },
      ],
    ]);
    const tooMany = await queueLists({ frames: files(200), more: files(57) });
    expect(problemsOf(tooMany)).toEqual([
      422,
      [expect.objectContaining({ loc: ['body', 'inputs'], msg: expect.stringContaining('257 files') })],
    ]);
    expect((await queueLists({ frames: files(200), more: files(56) })).status).toBe(200);
  });

  it('is not counted with the bytes of its data URLs', async () => {
    const large = `data:image/png;base64,${randomBytes(300_000).toString('base64')}`;
    const queued = await queueLists({ frames: [large] });
    expect(queued.status).toBe(200);
  });
});

describe('the executor of a run', () => {
  it('fetches the files that its inputs name, and no others', async () => {
    const bytes = randomBytes(5_000);
    const [{ body: file }, { body: other }] = [await upload(bytes), await upload()];
    const { key: run } = await runOf(await queue({ photo: file.id, note: other.id }));
    const keys = await newAttemptKeys();
    await appendAll(catalogue.bed.log, assigned(run, { publicKey: keys.publicKey }));
    const token = await signAttempt(keys, run, 1);
    const origin = catalogue.api.replace(/\/api$/, '');
    const read = async (id: string, bearer = token) => {
      const url = `${origin}/executions/${run.org_id}/${run.run_id}/1/files/${id}`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${bearer}` } });
      return { response, body: Buffer.from(await response.arrayBuffer()) };
    };
    const { response, body } = await read(file.id);
    expect([response.status, body.equals(bytes)]).toEqual([200, true]);
    expect(response.headers.get('etag')).toBe(`"${file.sha256}"`);
    expect(response.headers.get('content-disposition')).toBe('inline; filename=photo.png');
    expect((await read(other.id)).response.status).toBe(410);
    expect((await read(file.id, 'x'.repeat(86))).response.status).toBe(401);
    await call(`${catalogue.api}/files/${file.id}`, key, { method: 'DELETE' });
    const gone = await read(file.id);
    expect([gone.response.status, JSON.parse(gone.body.toString())]).toMatchObject([
      410,
      { detail: expect.stringContaining('was deleted or has expired'), code: 'input_file_gone' },
    ]);
  });
});
