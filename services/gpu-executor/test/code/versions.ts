import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { crc32, zstdCompressSync } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { findUv } from '@runledger/local-servers/find-uv';
import { pack, type Header } from 'tar-stream';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import type { FetchCode } from '../../src/runners/runner.ts';
import { codeRunnerType } from '../../src/runners/code/code-runner-type.ts';
import { settingsOf } from '../../src/runners/runner-registry.ts';
import { isolations } from '../fixtures/isolations.ts';
import { openConfigured, type ConfiguredOptions, type ConfiguredRuns } from '../runners/run-configured.ts';
import { Value } from 'typebox/value';
import { Type } from 'typebox';

export interface Archive {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** A file with its text, or anything that a tar archive may have. */
export type TarEntry = string | (Partial<Header> & { readonly content?: string });

/** In their order, which may have a name twice. */
export const archiveOf = async (
  entries: Readonly<Record<string, TarEntry>> | readonly (readonly [string, TarEntry])[],
): Promise<Archive> => {
  const tar = pack();
  for (const [name, entry] of Array.isArray(entries) ? entries : Object.entries(entries)) {
    const { content = '', ...header } = typeof entry === 'string' ? { content: entry } : entry;
    tar.entry({ name, mode: content.startsWith('#!') ? 0o755 : 0o644, ...header }, content);
  }
  tar.finalize();
  return compressed(await buffer(tar));
};

const compressed = (tar: Buffer): Archive => {
  const bytes = zstdCompressSync(tar);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
};

/** A gateway that has the archive, and counts how often it is fetched. */
export const codeFetcherOf = (
  { bytes }: Pick<Archive, 'bytes'>,
  until?: Promise<unknown>,
): FetchCode & { readonly fetches: () => number } => {
  let fetches = 0;
  const fetch: FetchCode = async (path, stop) => {
    fetches += 1;
    await until;
    if (stop.aborted) return { kind: 'stopped' };
    await writeFile(path, bytes);
    return { kind: 'fetched', bytes: bytes.byteLength, filename: 'code', content_type: '' };
  };
  return Object.assign(fetch, { fetches: () => fetches });
};

/** A pure package with one module, as pip and uv install it. */
export const wheelOf = (
  name: string,
  version: string,
  source: string,
): { readonly filename: string; readonly bytes: Buffer } => {
  const info = `${name}-${version}.dist-info`;
  const files = {
    [`${name}.py`]: source,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  const record = [...Object.keys(files), `${info}/RECORD`].map((each) => `${each},,\n`).join('');
  return {
    filename: `${name}-${version}-py3-none-any.whl`,
    bytes: zipOf({ ...files, [`${info}/RECORD`]: record }),
  };
};

/** Stored, as APPNOTE.TXT has it. */
export const zipOf = (files: Readonly<Record<string, string>>): Buffer => {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, content] = [Buffer.from(name), Buffer.from(text)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x21, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, path, content]);
    const more = Buffer.alloc(14);
    more.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002'), Buffer.from([20, 0]), common, more, path]));
    locals.push(local);
    at += local.length;
  }
  const all = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(all.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...locals, all, Buffer.from('PK\u0005\u0006'), end]);
};

const found = await findUv(process.env, (sentence) => process.stderr.write(`${sentence}\n`));
if (!found.ok) process.stderr.write(`no tests with uv: ${found.why}\n`);
/** Null where this machine has none, and none can be downloaded. */
export const uv = found.ok ? found.path : null;

/** The strongest that this machine allows. */
const isolation = isolations[0]?.[1];

/** An executor that runs the code of all organisations, unless the settings say otherwise. */
export const openCode = (
  settings: Readonly<Record<string, unknown>> = {},
  options: Partial<ConfiguredOptions> = {},
): Promise<ConfiguredRuns> => {
  const given = { EXECUTOR_CODE: 'all', ...(uv === null ? {} : { EXECUTOR_UV: uv }), ...settings };
  const all = Value.Default(Type.Object(settingsOf([codeRunnerType])), given) as Parameters<
    typeof codeRunnerType.configure
  >[0];
  return openConfigured({
    slots: 2,
    graceMs: 60_000,
    choice: { kind: 'code' },
    isolation,
    cacheBytes: 1024 ** 3,
    configure: (host) => codeRunnerType.configure(all, host),
    ...options,
  });
};

export const manifestOf = ({ sha256 }: Archive, of: Omit<CodeManifest, 'code_sha256'>): CodeManifest => ({
  code_sha256: sha256,
  ...of,
});
