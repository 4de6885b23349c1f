/**
 * Records the sample: `node scripts/run.mjs apps/replay/test/sample/record-sample.ts [FOLDER]`. It starts a gateway, schedulers and executors as processes,
 * plays the scenario for two minutes or three, and captures it. The tests say whether the scheduler decides all of it in the same way again:
 * a busy machine may give differences. Record it after a change of decisions or of the scenario, and not to be rid of a difference.
 */
import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startRealStack } from '@runledger/simulate/real-stack';
import { createOrganisation } from '@runledger/standalone/create-organisation';
import { sampleIn } from './sample.ts';
import { playScenario } from './scenario.ts';

const RUNLEDGER = join(import.meta.dirname, '../../../cli/bin/runledger.mjs');

{
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-sample-'));
  await using stack = await startRealStack(folder.path);
  const sample = sampleIn(process.argv[2] ?? import.meta.dirname);
  const from = new Date().toISOString();
  const create = (name: string) =>
    createOrganisation(stack.log, name, () => new Date(), ['runs:write', 'admin', 'operator']);
  const organisations = {
    plain: await create('plain'),
    limited: await create('limited'),
    choosy: await create('choosy'),
    warm: await create('warm'),
  };
  const settings = {
    RUNLEDGER_HEARTBEAT_PERIOD_S: '3',
    RUNLEDGER_CANCEL_ENFORCE_S: '6',
    RUNLEDGER_ORG_WEIGHTS: `${organisations.choosy.org_id}:2`,
    RUNLEDGER_ORG_LIMITS: `${organisations.limited.org_id}:1`,
  };
  await playScenario(stack, { organisations, settings });
  const to = new Date(Date.now() + 1_000).toISOString();
  const args = [RUNLEDGER, 'capture', '--from', from, '--to', to, '--output', sample.slice];
  const { PATH = '', HOME = '' } = process.env;
  const { stderr } = await promisify(execFile)(process.execPath, args, {
    env: { PATH, HOME, ...stack.account.env },
  });
  process.stdout.write(stderr);
  await writeFile(sample.settings, `${JSON.stringify(settings, undefined, 2)}\n`);
}
// The broker of the account lives as long as this process.
process.exit();
