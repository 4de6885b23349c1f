import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstallation, whyNoContainers } from '@runledger/testing/servers/containers';
import { expect, it } from 'vitest';
import { makeComposeSecrets } from '../../deploy/compose-secrets.ts';
import { makeMountedReadable } from '../../deploy/mounted-files.ts';
import { runSample } from './run-sample.ts';
import { ROOT } from '../deploy/workspaces.ts';

/** The first run pulls and builds the images. */
const WITHIN_MS = 20 * 60_000;

it(
  'docker-compose.yml runs the sample to success, in its containers',
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
  },
);
