import { createHash, randomBytes } from 'node:crypto';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { blobSubject } from '@runledger/contracts/blobs';
import { assigned } from '@runledger/testing/run-events';
import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { sweepStore } from '../../../src/keeping/sweeps.ts';
import { aKey, aTenant } from '../../fixtures/gateway/a-tenant.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
let admin: string;
let versions: string;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
  const { body } = await post(`${gateway.api}/workflows`, admin, { name: 'portrait' });
  versions = `${gateway.api}/workflows/${body.id}/versions`;
});
afterAll(() => bed[Symbol.asyncDispose]());

const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Nobody unpacks it here, so it only begins as one. */
const anArchive = (bytes = 1_000): Buffer => Buffer.concat([MAGIC, randomBytes(bytes - MAGIC.length)]);
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const upload = async (archive: Uint8Array<ArrayBuffer>, key = admin): Promise<string> => {
  const init = { method: 'POST', body: archive, headers: { 'content-type': 'application/zstd' } };
  return (await call(`${gateway.api}/files?filename=code.tar.zst`, key, init)).body.id;
};

const publish = async (
  archive: Buffer<ArrayBuffer>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<ApiAnswer> =>
  post(versions, admin, {
    workflow: { code_sha256: sha256Of(archive), run: 'predict.py:predict' },
    code: await upload(archive),
    ...more,
  });

const download = async (url: string, key: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}`, ...headers } });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('a version with code', () => {
  it('keeps the archive when the uploaded file is gone, and says who made it, why and from which commit', async () => {
    const archive = Buffer.from(anArchive(1_300_000));
    const code = await upload(archive);
    const made = await publish(archive, { code, message: 'warmer colours', commit: '1f0c9a4+changes' });
    expect([made.status, made.body]).toMatchObject([
      201,
      {
        code: { sha256: sha256Of(archive), bytes: archive.length },
        message: 'warmer colours',
        commit: '1f0c9a4+changes',
        created_by: bed.tenant.user_id,
      },
    ]);
    expect((await call(`${gateway.api}/files/${code}`, admin, { method: 'DELETE' })).status).toBe(204);
    const url = `${versions}/${made.body.id}/code`;
    const { response, bytes } = await download(url, bed.tenant.key);
    expect([response.status, response.headers.get('content-type'), bytes.equals(archive)]).toEqual([
      200,
      'application/zstd',
      true,
    ]);
    const part = await download(url, bed.tenant.key, { range: 'bytes=524280-1048600' });
    expect([part.response.status, part.bytes.equals(archive.subarray(524_280, 1_048_601))]).toEqual([
      206,
      true,
    ]);
    const stranger = await aTenant(bed.log);
    expect((await call(url, stranger.key)).status).toBe(404);
    const listed = (await call(versions, bed.tenant.key)).body.versions;
    expect(listed[0]).toMatchObject({ id: made.body.id, code: { bytes: archive.length } });
  });

  it('has a manifest that says what is executed, of exactly this archive', async () => {
    const archive = Buffer.from(anArchive());
    const code_sha256 = sha256Of(archive);
    const refused = async (more: Readonly<Record<string, unknown>>): Promise<string[]> => {
      const { status, body } = await publish(archive, more);
      expect(status).toBe(422);
      return body.detail.map(({ loc }: { loc: readonly string[] }) => loc.join('.'));
    };
    const command = ['python', 'main.py'];
    expect(await refused({ workflow: { code_sha256, run: 'a.py:f', command } })).toEqual(['body.workflow']);
    expect(await refused({ workflow: { code_sha256, command, threads: 3 } })).toContain('body.workflow');
    expect(await refused({ workflow: { code_sha256, run: '../predict.py:f' } })).toEqual([
      'body.workflow.run',
    ]);
    expect(await refused({ workflow: { code_sha256: 'a'.repeat(64), command } })).toEqual([
      'body.workflow.code_sha256',
    ]);
    expect(await refused({ code: await upload(Buffer.from('no archive')) })).toContain(
      'body.workflow.code_sha256',
    );
    const text = Buffer.from('no archive at all');
    const manifest = { code_sha256: sha256Of(text), command };
    expect(await refused({ workflow: manifest, code: await upload(text) })).toEqual(['body.code']);
    const stranger = await aTenant(bed.log);
    expect(await refused({ code: await upload(archive, stranger.key) })).toEqual(['body.code']);
    const plain = await post(versions, admin, { workflow: { kind: 'fractal' } });
    expect(await call(`${versions}/${plain.body.id}/code`, admin)).toMatchObject({
      status: 404,
      body: { code: 'version_has_no_code' },
    });
  });

  it('for ComfyUI is deployed on a machine for such versions, and its inputs name nodes of its prompt', async () => {
    const archive = Buffer.from(anArchive());
    const manifest = (workflow: unknown, more: object = {}) => ({
      code_sha256: sha256Of(archive),
      comfyui: { workflow, ...more },
    });
    const prompt = { '6': { class_type: 'Echo', inputs: { text: '' } } };
    const inputs = [{ name: 'prompt', type: 'string', node: '6', field: 'text' }];
    const made = await publish(archive, { workflow: manifest(prompt), inputs });
    expect(made.status).toBe(201);
    expect(made.body.code).toEqual({ sha256: sha256Of(archive), bytes: archive.length });
    const refused = async (more: Readonly<Record<string, unknown>>): Promise<string> => {
      const { status, body } = await publish(archive, more);
      expect(status).toBe(422);
      return JSON.stringify(body.detail);
    };
    expect(await refused({ workflow: manifest(prompt), inputs: [{ ...inputs[0], node: '7' }] })).toContain(
      'no node \\"7\\"',
    );
    const saved = { last_node_id: 1, nodes: [{ id: 1, type: 'Echo' }], links: [] };
    expect(await refused({ workflow: manifest(saved) })).toContain('Export (API)');
    for (const node of [{}, { path: '../a' }, { path: 'a', url: 'https://x', sha256: 'a'.repeat(64) }])
      expect(await refused({ workflow: manifest(prompt, { custom_nodes: { node } }) })).toContain(
        'custom_nodes',
      );
    expect(await refused({ workflow: { ...manifest(prompt), command: ['x'] } })).toContain('workflow');
    const { body: other } = await publish(Buffer.from(anArchive()));
    const machineOf = async (runner: unknown): Promise<string> =>
      (await post(`${gateway.api}/machines`, admin, { name: 'a', gpu: 'CPU', runner })).body.id;
    const code = await machineOf({ kind: 'code', server: null });
    const comfyui = await machineOf({ kind: 'code', server: 'comfyui' });
    const deploy = (workflow_version_id: string, machine_id: string) =>
      post(`${gateway.api}/deployments`, admin, { name: 'a', workflow_version_id, machine_id });
    const whyNot = async (version: string, machine: string): Promise<string> => {
      const { status, body } = await deploy(version, machine);
      expect(status).toBe(422);
      return body.detail[0].msg;
    };
    expect(await whyNot(made.body.id, code)).toContain('name one with {"kind":"code","server":"comfyui"}');
    expect(await whyNot(other.id, comfyui)).toContain('name one with {"kind":"code"}');
    expect((await deploy(made.body.id, comfyui)).status).toBe(201);
    const changed = await call(`${gateway.api}/machines/${comfyui}`, admin, {
      method: 'PATCH',
      body: JSON.stringify({ runner: { kind: 'code' } }),
      headers: { 'content-type': 'application/json' },
    });
    expect(changed).toMatchObject({ status: 409, body: { code: 'record_in_use' } });
  });

  it('is deployed on a machine that runs code, and only there', async () => {
    const { body: version } = await publish(Buffer.from(anArchive()));
    const { body: plain } = await post(versions, admin, { workflow: { kind: 'fractal' } });
    const machineOf = async (runner: unknown): Promise<string> =>
      (await post(`${gateway.api}/machines`, admin, { name: 'a', gpu: 'CPU', runner })).body.id;
    const code = await machineOf({ kind: 'code' });
    const program = await machineOf({ kind: 'program', program: 'render' });
    const deploy = (workflow_version_id: string, machine_id: string, name = 'a') =>
      post(`${gateway.api}/deployments`, admin, { name, workflow_version_id, machine_id });
    // A run may name another version than that of its deployment.
    expect((await deploy(plain.id, program, 'mixed')).status).toBe(201);
    const queued = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
      deployment: `mixed@${version.number}`,
    });
    expect(queued).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'deployment'], msg: expect.stringContaining('has code') }] },
    });
    expect((await deploy(version.id, code)).status).toBe(201);
    const change = (id: string, runner: unknown) =>
      call(`${gateway.api}/machines/${id}`, admin, {
        method: 'PATCH',
        body: JSON.stringify({ runner }),
        headers: { 'content-type': 'application/json' },
      });
    expect(await change(code, { kind: 'comfyui' })).toMatchObject({
      status: 409,
      body: { code: 'record_in_use' },
    });
    const free = await machineOf({ kind: 'program', program: 'render' });
    expect((await change(free, { kind: 'code' })).status).toBe(200);
    expect((await change(free, { kind: 'program', program: 'render' })).status).toBe(200);
    for (const [one, machine] of [
      [version.id, program],
      [plain.id, code],
    ])
      expect(await deploy(one, machine)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'machine_id'] }] },
      });
  });

  it('keeps its pieces from the sweep, and says so when one is lost; deploying again repairs it', async () => {
    const archive = Buffer.from(anArchive(700_000));
    const { body: made } = await publish(archive);
    const { org_id } = bed.tenant;
    const kept = await catalogue(bed.log).versions.get(org_id, made.id);
    const pieces = kept?.code?.pieces ?? [];
    expect(pieces).toHaveLength(2);
    const hashes = await catalogue(bed.log).versions.hashes(org_id);
    expect(pieces.every((piece) => hashes.has(piece))).toBe(true);
    const { workflows } = openBlobStores(bed.log);
    const sweep = sweepStore(
      workflows,
      async (blobs) => blobs.filter((blob) => !hashes.has(blob.sha256) && blob.org_id === org_id),
      0,
      () => undefined,
    );
    await sweep(new AbortController().signal);
    const url = `${versions}/${made.id}/code`;
    expect((await download(url, admin)).bytes.equals(archive)).toBe(true);
    await bed.log.jsm.streams.purge('WORKFLOWS', {
      filter: blobSubject('WORKFLOWS', org_id, pieces[0] ?? ''),
    });
    expect(await call(url, admin)).toMatchObject({ status: 410, body: { code: 'code_lost' } });
    // One that stored it a moment ago does not look for it again.
    const other = await bed.gateway();
    const again = versions.replace(gateway.api, other.api);
    const repair = { workflow: { code_sha256: sha256Of(archive), run: 'predict.py:predict' } };
    expect((await post(again, admin, { ...repair, code: await upload(archive) })).status).toBe(201);
    expect((await download(url, admin)).bytes.equals(archive)).toBe(true);
  });

  it('is fetched by the attempt of its run, with the token of that attempt', async () => {
    const archive = Buffer.from(anArchive());
    const { body: version } = await publish(archive);
    const machine = await post(`${gateway.api}/machines`, admin, {
      name: 'b',
      gpu: 'CPU',
      runner: { kind: 'code' },
    });
    const { body: deployment } = await post(`${gateway.api}/deployments`, admin, {
      name: 'b',
      workflow_version_id: version.id,
      machine_id: machine.body.id,
    });
    const queued = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
      deployment_id: deployment.id,
    });
    const attemptOf = async (run_id: string) => {
      const run = { org_id: bed.tenant.org_id, run_id } as Parameters<typeof assigned>[0];
      const keys = await newAttemptKeys();
      await appendAll(bed.log, assigned(run, { publicKey: keys.publicKey }));
      const url = `${gateway.url}/executions/${run.org_id}/${run_id}/1/code`;
      return { url, token: await signAttempt(keys, run, 1) };
    };
    const { url, token } = await attemptOf(queued.body.run_id);
    const { response, bytes } = await download(url, token);
    expect([response.headers.get('etag'), bytes.equals(archive)]).toEqual([`"${sha256Of(archive)}"`, true]);
    expect((await call(url, bed.tenant.key)).status).toBe(401);
    const { run_id } = await queueSample(gateway, bed.tenant);
    const other = await attemptOf(run_id);
    expect((await call(other.url, other.token)).status).toBe(404);
    expect((await call(url, other.token)).status).toBe(401);
  });
});
