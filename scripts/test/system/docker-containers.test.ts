import { mkdtempDisposable } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstallation, whyNoContainers } from '@runledger/testing/servers/containers';
import { expect, it } from 'vitest';
import { makeComposeSecrets } from '../../deploy/compose-secrets.ts';
import { makeMountedReadable } from '../../deploy/mounted-files.ts';
import { runSample } from './run-sample.ts';
import { members, ROOT } from '../deploy/workspaces.ts';

/** The first run pulls and builds the images. */
const WITHIN_MS = 20 * 60_000;

const [MAJOR = 0, MINOR = 0] = release().split('.').map(Number);
/** Landlock then holds signals too. */
const ISOLATION = MAJOR > 6 || (MAJOR === 6 && MINOR >= 12) ? 'strong' : 'weak';

it(
  'docker-compose.yml runs the sample to success, in its containers, isolated from everything else',
  { timeout: WITHIN_MS },
  async (context) => {
    const why = await whyNoContainers();
    if (why !== undefined) return context.skip(why);
    await using temporary = await mkdtempDisposable(join(tmpdir(), 'runledger-containers-'));
    const secrets = join(temporary.path, 'secrets');
    await makeMountedReadable(ROOT);
    await makeComposeSecrets(secrets);
    await using installation = await openInstallation({ root: ROOT, secrets });

    const created = await installation.runledger(['organisations', 'create', 'me', '--json']);
    expect(await runSample(installation.url, created)).toMatchObject({ status: 'success' });

    const operator = await installation.runledger([
      'keys',
      'create',
      '--operator',
      '--name',
      'test',
      '--json',
    ]);
    expect(await executors(installation.url, operator)).toMatchObject([
      { name: 'gpu-1', isolation: ISOLATION },
    ]);
  },
);

/** `created` is the output of `keys create --operator --json`, and what it says about it. */
const executors = async (api: string, created: string): Promise<unknown> => {
  const [json = ''] = created.split('\n').filter((line) => line.startsWith('{'));
  const { key } = members(JSON.parse(json));
  const answer = await fetch(`${api}/executors`, { headers: { authorization: `Bearer ${String(key)}` } });
  return members(await answer.json())['executors'];
};
