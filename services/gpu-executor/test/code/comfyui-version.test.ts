import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync, zstdDecompressSync } from 'node:zlib';
import { isPortFree } from '@runledger/local-servers/free-port';
import { COMFYUI_FOLDER } from '@runledger/testing/stand-ins/comfyui';
import { describe, expect, it, vi } from 'vitest';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { networkHold } from '../../src/network/network-hold.ts';
import { findPython } from '../../src/code/python.ts';
import { noPart } from '../../src/transfer/input-file.ts';
import type { FetchUrl } from '../../src/transfer/fetch-url.ts';
import { halfOf, isolations } from '../fixtures/isolations.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';
import {
  archiveOf,
  codeFetcherOf,
  manifestOf,
  openCode,
  uv,
  wheelOf,
  zipOf,
  type Archive,
} from './versions.ts';

const DEPLOYMENT_ID = '01920000-0000-7000-8000-0000000000dd';
const python = await findPython(undefined, process.env['PATH'] ?? '');
if (python === null || typeof python === 'string') throw new Error('The tests need python3.');

const COMFYUI = {
  EXECUTOR_COMFYUI_FOLDER: COMFYUI_FOLDER,
  EXECUTOR_COMFYUI_PYTHON: python.base,
};
/** Landlock lets nobody listen. */
const WITH_PORTS = halfOf(
  isolations.filter(([name]) => !name.includes('Landlock')),
  1,
);
const CHOICE = { choice: { kind: 'code', server: 'comfyui' } } as const;

/** A custom node that shows a text, which process shows it, and what is in its world. */
const node = (name: string, says: string, above = ''): string => `
import os, socket, folder_paths
${above}
ONCE = os.urandom(8).hex()
class ${name}:
    FUNCTION = "run"
    def run(self, text="", file=None):
        shown = [text, ONCE, str(${says})]
        if file: shown.append(open(os.path.join(folder_paths.get_input_directory(), file)).read())
        return {"ui": {"text": shown}}
NODE_CLASS_MAPPINGS = {"${name}": ${name}}
`;

const promptOf = (class_type: string, inputs: object = {}): Record<string, unknown> => ({
  '1': { class_type, inputs },
});

/** Servers with these files by their URLs. */
const filesOf = (files: Readonly<Record<string, Buffer>>): FetchUrl & { readonly asked: string[] } => {
  const asked: string[] = [];
  const fetch: FetchUrl = async (url, { path, part = noPart() }) => {
    asked.push(url);
    const bytes = files[url] ?? Buffer.alloc(0);
    await writeFile(path, bytes);
    part.hash.update(bytes);
    part.bytes += bytes.byteLength;
    return { kind: 'fetched', bytes: bytes.byteLength, filename: 'file', content_type: '' };
  };
  return Object.assign(fetch, { asked });
};

const shaOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

interface Made {
  readonly archive: Archive;
  readonly manifest: CodeManifest;
}

/** A version with one node of its folder. */
const versionOf = async (
  source: string,
  of: Partial<Omit<CodeManifest, 'code_sha256'>> & { readonly class_type?: string } = {},
): Promise<Made> => {
  const archive = await archiveOf({ 'nodes/mine/__init__.py': source });
  const { class_type = 'Mine', ...more } = of;
  const comfyui = { workflow: promptOf(class_type), custom_nodes: { mine: { path: 'nodes/mine' } } };
  return { archive, manifest: manifestOf(archive, { comfyui, ...more }) };
};

const textOf = (result: unknown): string[] =>
  (result as { readonly nodes?: readonly { readonly data: { readonly text: string[] } }[] }).nodes?.[0]?.data
    .text ?? [];

describe('a version for ComfyUI', () => {
  it.skipIf(uv === null)('has its node, its packages and its models, in a process that stays', async () => {
    const wheelHouse = temporaryFolder();
    chmodSync(wheelHouse, 0o755);
    const { filename, bytes } = wheelOf('comfy_words', '1.0', 'WORD = "packaged"\n');
    writeFileSync(join(wheelHouse, filename), bytes, { mode: 0o644 });
    const model = Buffer.from('weights');
    const fetchModel = filesOf({ 'https://example.com/m': model });
    const settings = { ...COMFYUI, EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse };
    const { start } = await openCode(settings, { fetchModel, ...CHOICE });
    const source = node(
      'Mine',
      'comfy_words.WORD + open(os.path.join(folder_paths.models_dir, "checkpoints/m.bin")).read() + os.environ["MARK"]',
      'import comfy_words',
    );
    const archive = await archiveOf({
      'nodes/mine/__init__.py': source,
      'nodes/mine/requirements.txt': 'comfy_words\npip\n',
    });
    const manifest = manifestOf(archive, {
      comfyui: { workflow: promptOf('Mine'), custom_nodes: { mine: { path: 'nodes/mine' } } },
      models: { 'checkpoints/m.bin': { url: 'https://example.com/m', sha256: shaOf(model) } },
      env: { MARK: '!' },
    });
    const fetchCode = codeFetcherOf(archive);
    const inputTargets = [{ name: 'word', node: '1', field: 'text' }];
    const run = (word: string, nth: number) =>
      start(manifest, { fetchCode, inputs: { word }, inputTargets, nth });
    const cold = run('first', 1);
    const first = await cold.result;
    expect(first).toMatchObject({ outcome: 'succeeded' });
    expect(textOf(first)).toEqual(['first', expect.any(String), 'packagedweights!']);
    expect(cold.codes).toEqual([archive.sha256]);
    expect(cold.lines).toContainEqual({ stream: 'stdout', line: 'loaded Mine' });
    const warm = run('second', 2);
    const second = await warm.result;
    expect(textOf(second)).toEqual(['second', textOf(first)[1], 'packagedweights!']);
    expect(warm.begun).toEqual([0]);
    expect(fetchModel.asked).toHaveLength(1);
  });

  it('with a changed node is another process, and that of the version before ends', async () => {
    const [before, after] = [
      await versionOf(node('Mine', '"before"')),
      await versionOf(node('Mine', '"after"')),
    ];
    const { start, logged } = await openCode(COMFYUI, CHOICE);
    const run = ({ archive, manifest }: Made, workflow_version_id: string, slot: number, nth: number) =>
      start(manifest, {
        fetchCode: codeFetcherOf(archive),
        workflow_version_id,
        deployment_id: DEPLOYMENT_ID,
        slot,
        nth,
      }).result;
    expect(textOf(await run(before, '1', 0, 1))[2]).toBe('before');
    expect(textOf(await run(after, '2', 1, 2))[2]).toBe('after');
    await vi.waitUntil(() => JSON.stringify(logged).includes('"phase":"ending"'), {
      timeout: 20_000,
      interval: 10,
    });
    expect(textOf(await run(after, '2', 0, 3))[2]).toBe('after');
  });

  it('listens where no other program gets, and reaches nothing that listens on the machine', async () => {
    const isolation = isolations.find(([name]) => name.includes('bubblewrap'))?.[1];
    if (isolation === undefined) return;
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const says = `[socket.socket().connect_ex(("127.0.0.1", ${port})) == 0, int(sys.argv[sys.argv.index("--port") + 1])]`;
    const { archive, manifest } = await versionOf(node('Mine', `json.dumps(${says})`, 'import json, sys'));
    const { start } = await openCode(COMFYUI, { ...CHOICE, isolation });
    const { result } = start(manifest, { fetchCode: codeFetcherOf(archive) });
    const [, , said = ''] = textOf(await result);
    const [isReached, own] = JSON.parse(said) as [boolean, number];
    expect(isReached).toBe(false);
    expect(own).not.toBe(port);
    expect(await isPortFree(own)).toBe(true);
  });

  it('has nodes from archives of other servers, each fetched once', async () => {
    const tar = zstdDecompressSync(
      (await archiveOf({ 'impact-abc/__init__.py': node('Tarred', '"tar"') })).bytes,
    );
    const files = {
      'https://example.com/impact.tar.gz': gzipSync(tar),
      'https://example.com/zip': zipOf({
        'pack-1/__init__.py': node('Zipped', '"zip"'),
        'pack-1/a/b.txt': '',
      }),
    };
    const fetchModel = filesOf(files);
    const [impact, zip] = Object.entries(files).map(([url, bytes]) => ({ url, sha256: shaOf(bytes) }));
    const archive = await archiveOf({ 'w.json': '' });
    const { start, workFolder } = await openCode(COMFYUI, { ...CHOICE, fetchModel });
    const workflow = { ...promptOf('Tarred'), '2': { class_type: 'Zipped', inputs: {} } };
    const manifest = manifestOf(archive, {
      comfyui: { workflow, custom_nodes: { impact: impact ?? { path: '' }, zip: zip ?? { path: '' } } },
    });
    for (const nth of [1, 2]) {
      const result = await start(manifest, { fetchCode: codeFetcherOf(archive), nth }).result;
      expect(result).toMatchObject({ outcome: 'succeeded', nodes: [{}, {}] });
    }
    expect(fetchModel.asked).toEqual(Object.keys(files));
    expect(existsSync(join(workFolder, 'tmp-node'))).toBe(false);
  });

  it.each(WITH_PORTS)('gives its nodes the files of inputs %s', async (_, isolation) => {
    const { archive, manifest } = await versionOf(node('Mine', '1'));
    const { start } = await openCode(COMFYUI, { ...CHOICE, isolation });
    const run = start(manifest, {
      fetchCode: codeFetcherOf(archive),
      inputFiles: { 'a.txt': 'content' },
      inputs: { picture: 'a.txt' },
      fileInputs: ['picture'],
      inputTargets: [{ name: 'picture', node: '1', field: 'file' }],
    });
    expect(textOf(await run.result)[3]).toBe('content');
  });
});

describe('a version for ComfyUI that cannot be run', () => {
  const refused = async (
    { archive, manifest }: Made,
    settings: object = COMFYUI,
    options: Parameters<typeof openCode>[1] = {},
  ): Promise<unknown> => {
    const { start } = await openCode({ ...settings }, { ...CHOICE, ...options });
    return start(manifest, { fetchCode: codeFetcherOf(archive) }).result;
  };

  it('says which node is missing', async () => {
    const made = await versionOf(node('Mine', '1'), { class_type: 'Other' });
    expect(
      await refused({ ...made, manifest: { ...made.manifest, comfyui: { workflow: promptOf('Other') } } }),
    ).toMatchObject({
      outcome: 'failed',
      error: { kind: 'not_runnable', message: expect.stringContaining('Other') },
    });
  });

  it('says which folder is missing, and that an archive is another one or none', async () => {
    const { archive, manifest } = await versionOf('');
    const withNode = (from: object): Made => ({
      archive,
      manifest: {
        ...manifest,
        comfyui: { workflow: promptOf('Mine'), custom_nodes: { mine: from as never } },
      },
    });
    const why = (message: string) => ({
      outcome: 'failed',
      error: { kind: 'prepare_failed', message: expect.stringContaining(message) },
    });
    expect(await refused(withNode({ path: 'nodes/no' }))).toMatchObject(
      why('has no folder nodes/no, which the custom node mine names'),
    );
    const url = 'https://example.com/a';
    const text = Buffer.from('no archive');
    const fetchModel = filesOf({ [url]: text });
    expect(await refused(withNode({ url, sha256: 'a'.repeat(64) }), COMFYUI, { fetchModel })).toMatchObject(
      why('The archive of the custom node mine is not the file that the version names'),
    );
    expect(await refused(withNode({ url, sha256: shaOf(text) }), COMFYUI, { fetchModel })).toMatchObject(
      why('The archive of the custom node mine is neither a tar archive'),
    );
  });

  it('says that the machine or the executor is another one', async () => {
    const made = await versionOf(node('Mine', '1'));
    expect(await refused(made, {})).toMatchObject({
      outcome: 'not_runnable',
      why: expect.stringContaining('EXECUTOR_COMFYUI_FOLDER is not set'),
    });
    expect(await refused(made, COMFYUI, { choice: { kind: 'code' } })).toMatchObject({
      outcome: 'not_runnable',
      why: expect.stringContaining('name a machine with {"kind":"code","server":"comfyui"}'),
    });
  });

  it.each(isolations.filter(([, isolation]) => networkHold(isolation) === 'landlock'))(
    'says %s that nothing may listen there',
    async (_, isolation) => {
      expect(await refused(await versionOf(node('Mine', '1')), COMFYUI, { isolation })).toMatchObject({
        outcome: 'not_runnable',
        why: expect.stringContaining('install bubblewrap'),
      });
    },
  );
});
