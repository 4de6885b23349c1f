/**
 * Writes the files of a release into a folder: the sources of the commit, the software bill of materials, and their provenance:
 * `node scripts/run.mjs scripts/release/make-release.ts --builder mailto:you@example.com --source https://example.com/runledger`.
 * Sources and bill of materials of a commit are the same whoever makes them.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { NATS_SERVER_RELEASE } from '@runledger/local-servers/nats-server-release';
import { imagesWithoutDigest } from './pin-images.ts';
import { provenanceOf, type Artifact } from './provenance.ts';
import { makeSbom } from './sbom.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

export interface ReleaseOptions {
  readonly builder: string;
  readonly source: string;
  readonly folder: string;
  /** The repository; by default the one of this file. */
  readonly root?: string;
}

/**
 * Returns the paths of the files.
 * @throws Error if the checkout differs from its commit, so that nobody could say what was released
 */
export const makeRelease = async ({
  builder,
  source,
  folder,
  root = ROOT,
}: ReleaseOptions): Promise<string[]> => {
  const startedOn = new Date().toISOString();
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', args, { cwd: root })).stdout.trim();
  const changed = await git('status', '--porcelain');
  if (changed !== '')
    throw new Error(`Commit or remove these first: a release has the files of a commit.\n${changed}`);
  const commit = await git('rev-parse', 'HEAD');
  const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const name = `runledger-${version}`;
  await mkdir(folder, { recursive: true });

  const at = (file: string): string => join(folder, file);
  const [sources, bom, statement] = [`${name}.tar.gz`, `${name}.cdx.json`, `${name}.intoto.jsonl`];
  await git('archive', '--format=tar.gz', `--prefix=${name}/`, `--output=${at(sources)}`, commit);
  const madeAt = new Date(await git('show', '--no-patch', '--format=%cI', commit)).toISOString();
  await writeFile(at(bom), `${JSON.stringify(await makeSbom(madeAt, root), null, 2)}\n`);

  const subjects = await Promise.all([sources, bom].map((file) => artifact(file, at(file))));
  const dependencies = [
    await artifact('package-lock.json', join(root, 'package-lock.json')),
    ...NATS_SERVER_RELEASE.builds.map(({ platform, binarySha256 }) => ({
      name: `nats-server ${NATS_SERVER_RELEASE.version} for ${platform}`,
      sha256: binarySha256,
    })),
  ];
  const maker = { builder, source, commit, version, startedOn, finishedOn: new Date().toISOString() };
  await writeFile(at(statement), `${JSON.stringify(provenanceOf(maker, subjects, dependencies))}\n`);
  return [sources, bom, statement].map(at);
};

const artifact = async (name: string, path: string): Promise<Artifact> => ({
  name,
  sha256: createHash('sha256')
    .update(await readFile(path))
    .digest('hex'),
});

const isUri = (text: string | undefined): text is string => text !== undefined && URL.canParse(text);

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      builder: { type: 'string' },
      source: { type: 'string' },
      out: { type: 'string', default: 'dist/release' },
    },
  });
  const { builder, source, out } = values;
  if (!isUri(builder) || !isUri(source)) {
    console.error(
      '--builder and --source are URIs: of who makes this release (mailto:…, or a workflow of CI), and of the repository.',
    );
    process.exit(2);
  }
  for (const file of await makeRelease({ builder, source, folder: resolve(out) })) console.log(file);
  console.log('The provenance is not signed. CONTRIBUTING.md says how to sign it.');
  const images = await imagesWithoutDigest();
  if (images.length > 0) console.log(`Not pinned by digest: ${images.join(', ')}.`);
}
