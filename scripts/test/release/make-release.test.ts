import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeRelease } from '../../release/make-release.ts';
import { manifestOf, ROOT } from '../deploy/workspaces.ts';

const run = promisify(execFile);
const BUILDER = 'mailto:you@example.com';
const SOURCE = 'https://example.com/runledger';

const sha256Of = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

describe('a release', () => {
  const open = new AsyncDisposableStack();
  let root: string;
  let folder: string;
  let files: string[];
  beforeAll(async () => {
    ({ path: folder } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-release-'))));
    root = join(folder, 'checkout');
    await run('git', ['clone', '--quiet', '--shared', ROOT, root]);
    files = await makeRelease({ builder: BUILDER, source: SOURCE, folder: join(folder, 'one'), root });
  });
  afterAll(() => open.disposeAsync());

  const statement = async (): Promise<unknown> => {
    const path = files.find((file) => file.endsWith('.intoto.jsonl')) ?? '';
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    return JSON.parse(lines[0] ?? '');
  };

  it('has the sources, the bill of materials and the provenance', () => {
    const name = `runledger-${manifestOf('.').version}`;
    const expected = ['.tar.gz', '.cdx.json', '.intoto.jsonl'].map((end) => `${name}${end}`);
    expect(files.map((file) => basename(file))).toEqual(expected);
  });

  it('has a provenance that names each file by its SHA-256, the commit and the builder', async () => {
    const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: root });
    const gitCommit = stdout.trim();
    const [sources = '', bom = ''] = files;
    expect(await statement()).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'https://slsa.dev/provenance/v1',
      subject: [
        { name: basename(sources), digest: { sha256: await sha256Of(sources) } },
        { name: basename(bom), digest: { sha256: await sha256Of(bom) } },
      ],
      predicate: {
        buildDefinition: {
          resolvedDependencies: expect.arrayContaining([
            { uri: `git+${SOURCE}@${gitCommit}`, digest: { gitCommit } },
            {
              name: 'package-lock.json',
              digest: { sha256: await sha256Of(join(root, 'package-lock.json')) },
            },
          ]),
        },
        runDetails: { builder: { id: BUILDER } },
      },
    });
  });

  it('has the same sources and bill of materials when another person makes it', async () => {
    const options = { builder: 'mailto:another@example.com', source: SOURCE, root };
    const again = await makeRelease({ ...options, folder: join(folder, 'two') });
    expect(await Promise.all(again.slice(0, 2).map(sha256Of))).toEqual(
      await Promise.all(files.slice(0, 2).map(sha256Of)),
    );
  });

  it('is refused if the checkout differs from its commit', async () => {
    await writeFile(join(root, 'new-file'), '');
    const release = makeRelease({ builder: BUILDER, source: SOURCE, folder: join(folder, 'three'), root });
    await expect(release).rejects.toThrow(/Commit or remove these first.*new-file/s);
  });
});
