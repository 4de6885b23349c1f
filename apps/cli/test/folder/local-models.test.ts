import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { codeFolder, PREDICT, writeFiles } from '../fixtures/code-folder.ts';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { runCli, type Result } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

let gateway: RealGateway;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  gateway = await aRealGateway();
  env = { ...gateway.env, XDG_CACHE_HOME: mkdtempSync(join(tmpdir(), 'runledger-cache-')) };
});
afterAll(async () => {
  rmSync(env['XDG_CACHE_HOME'] ?? '', { recursive: true });
  await gateway[Symbol.asyncDispose]();
});

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const tomlOf = (name: string, entry: string, model = 'sdxl/unet.bin'): string =>
  `name = "${name}"\nrun = "predict.py:predict"\ngpu = "CPU"\n[models]\n"${model}" = { ${entry} }\n`;

const folderOf = (name: string, weights: Uint8Array, entry = 'path = "weights/unet.bin"'): string =>
  codeFolder({
    'runledger.toml': tomlOf(name, entry),
    'predict.py': PREDICT,
    'weights/unet.bin': weights,
  });

const deploy = (cwd: string, at = env): Promise<Result> =>
  runCli(['deploy', '.', '--json'], { cwd, env: at });
// oxlint-disable-next-line typescript/no-explicit-any -- JSON that tests look into
const deployed = async (cwd: string, at = env): Promise<any> => {
  const { code, stdout, stderr } = await deploy(cwd, at);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};
const refused = async (cwd: string): Promise<string> => {
  const { code, stderr } = await deploy(cwd);
  expect(code).toBe(2);
  return stderr;
};
/** Of the version that the deployment uses. */
const manifestOf = async (name: string) => {
  const { stdout } = await runCli(['deployments', 'show', name, '--json'], { env });
  const { workflow_id, workflow_version_id } = JSON.parse(stdout);
  return (await gateway.read(`/workflows/${workflow_id}/versions/${workflow_version_id}`)).workflow;
};

/** In front of the gateway: which uploads were begun. `cutAt`: bytes of the first one after which its connection breaks. */
const aProxy = async (cutAt = Infinity) => {
  const sent: string[] = [];
  const { hostname, port, pathname } = new URL(gateway.env['RUNLEDGER_URL'] ?? '');
  let left = cutAt;
  const server = createServer((client) => {
    const service = connect(Number(port), hostname);
    const end = (): void => {
      client.destroy();
      service.destroy();
    };
    let isUpload = false;
    client.on('data', (piece) => {
      const [, method, path] = /^([A-Z]+) (\S+) HTTP/.exec(piece.toString('latin1')) ?? [];
      if (method !== undefined) isUpload = path?.includes('/files/uploads/') === true && method === 'PATCH';
      if (method !== undefined && isUpload) sent.push(String(path));
      if (isUpload && piece.length > left) {
        service.write(piece.subarray(0, left), end);
        left = Infinity;
        return;
      }
      if (isUpload) left -= piece.length;
      service.write(piece);
    });
    service.pipe(client);
    client.on('error', end).on('close', end);
    // What it has sent before it closes is on its way still.
    service.on('error', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const own = typeof address === 'object' ? address?.port : undefined;
  return { env: { ...env, RUNLEDGER_URL: `http://127.0.0.1:${own}${pathname}` }, sent };
};

describe('a model that is a file of this machine', () => {
  it('is sent once, named by its hash, and no part of the code', async () => {
    const weights = randomBytes(100_000);
    const sha256 = sha256Of(weights);
    const cwd = folderOf('sent', weights);
    const proxy = await aProxy();
    const dry = await runCli(['deploy', '.', '--dry-run'], { cwd, env: proxy.env });
    expect(dry.stdout).toContain('Model to send: sdxl/unet.bin, 98 KiB');
    expect(proxy.sent).toEqual([]);
    expect((await deployed(cwd, proxy.env)).changes).toMatchObject({
      files: { added: ['predict.py', 'runledger.toml'] },
      manifest: { added: ['run', 'models'] },
    });
    expect((await manifestOf('sent')).models).toEqual({ 'sdxl/unet.bin': { sha256, bytes: 100_000 } });
    const { models } = await gateway.read('/models');
    expect(models[0]).toMatchObject({ sha256, bytes: 100_000, versions: 1 });
    const { files } = await gateway.read('/files');
    expect(files.map((file: { readonly filename: string }) => file.filename)).not.toContain('unet.bin');
    const before = proxy.sent.length;
    expect(await deployed(cwd, proxy.env)).toMatchObject({ version: { outcome: 'unchanged' } });
    // Another folder, with the same file outside of it.
    const other = folderOf('sent-too', new Uint8Array(), `path = "${join(cwd, 'weights/unet.bin')}"`);
    await deployed(other, proxy.env);
    expect(proxy.sent.slice(before)).toHaveLength(1);
    expect((await gateway.read('/models')).models[0]).toMatchObject({ sha256, versions: 2 });
  });

  it('is continued where the connection broke', async () => {
    const weights = randomBytes(3_000_000);
    const cwd = folderOf('broken', weights);
    const proxy = await aProxy(1_000_000);
    const { code, stderr } = await deploy(cwd, proxy.env);
    expect([code, stderr]).toEqual([0, expect.stringContaining('Retrying for up to 60 s')]);
    const [first, second] = proxy.sent;
    expect(first).toBe(second);
    expect((await gateway.read('/models')).models[0]).toMatchObject({ sha256: sha256Of(weights) });
  });

  it('that has its size and time is not read again, and one that was changed makes a version', async () => {
    const cwd = folderOf('known', Buffer.alloc(1_000, 'a'));
    await deployed(cwd);
    const file = join(cwd, 'weights/unet.bin');
    utimesSync(file, 1_000, 1_000);
    await deployed(cwd);
    writeFileSync(file, Buffer.alloc(1_000, 'b'));
    utimesSync(file, 1_000, 1_000);
    expect(await deployed(cwd)).toMatchObject({ version: { outcome: 'unchanged' } });
    utimesSync(file, 2_000, 2_000);
    expect(await deployed(cwd)).toMatchObject({
      version: { outcome: 'new' },
      changes: { files: { changed: [] }, manifest: { changed: ['models'] } },
    });
    expect((await manifestOf('known')).models['sdxl/unet.bin'].sha256).toBe(
      sha256Of(Buffer.alloc(1_000, 'b')),
    );
    expect(statSync(join(env['XDG_CACHE_HOME'] ?? '', 'runledger/model-hashes.json')).isFile()).toBe(true);
  });

  it('may be a link in the folder to a file elsewhere', async () => {
    const large = join(temporaryFolder(), 'large.bin');
    writeFileSync(large, 'weights');
    const cwd = folderOf('linked', new Uint8Array(), 'path = "unet.bin"');
    symlinkSync(large, join(cwd, 'unet.bin'));
    const { changes } = await deployed(cwd);
    expect(changes.files.added).not.toContain('unet.bin');
    await waitFor('the model', async () =>
      JSON.stringify(await gateway.read('/models')).includes(sha256Of(Buffer.from('weights'))),
    );
  });

  it.each([
    [
      'missing',
      'path = "weights/other.bin"',
      'names weights/other.bin, which cannot be read: the file does not exist',
    ],
    ['a folder', 'path = "weights"', 'names weights, which is no file'],
    [
      'another one',
      `path = "weights/unet.bin", sha256 = "${'0'.repeat(64)}"`,
      'runledger.toml: models."sdxl/unet.bin".sha256 is not that of weights/unet.bin',
    ],
    ['at two places', 'path = "a", url = "https://a"', 'models."sdxl/unet.bin": Write url'],
    ['nowhere', '', 'models."sdxl/unet.bin": Write url'],
  ])('that is %s is refused before anything is sent', async (name, entry, why) => {
    const before = await gateway.read('/usage');
    expect(await refused(folderOf(`refused ${name}`, randomBytes(10), entry))).toContain(why);
    expect(await gateway.read('/usage')).toEqual(before);
  });

  it('that is empty is refused, and one with its right hash is not', async () => {
    const cwd = folderOf('hashed', new Uint8Array());
    expect(await refused(cwd)).toContain('which is empty');
    const weights = randomBytes(10);
    const entry = `path = "weights/unet.bin", sha256 = "${sha256Of(weights)}"`;
    writeFiles(cwd, { 'weights/unet.bin': weights, 'runledger.toml': tomlOf('hashed', entry) });
    expect(await deployed(cwd)).toMatchObject({ version: { outcome: 'new' } });
  });
});
