import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codeFolder, PREDICT, writeFiles } from '../fixtures/code-folder.ts';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { startCli } from '../fixtures/run-cli.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

it('dev deploys each change to a deployment of its user, says what is wrong with one, and ends in order', async () => {
  const cwd = codeFolder({
    'runledger.toml': 'name = "portraits"\nrun = "predict.py:predict"\ngpu = "CPU"\n',
    'predict.py': PREDICT,
  });
  const dev = startCli(['dev', '.', '--as', 'ada'], { env: gateway.env, cwd });
  const says = (text: RegExp) => waitFor(`${text}`, () => text.test(dev.stderr()), { withinMs: 20_000 });
  await says(/portraits@ada has version 1 after/);
  await says(/Watching/);
  writeFiles(cwd, { 'predict.py': PREDICT.replace('20', '30') });
  await says(/has version 2 after .*predict\.py/);
  writeFiles(cwd, { 'predict.py': 'def predict(' });
  await says(/predict\.py, line 1/);
  // An editor may replace a file, and tools write beside it.
  writeFiles(cwd, { '__pycache__/predict.pyc': 'x', 'predict.py': PREDICT.replace('20', '40') });
  await says(/has version 3 after/);
  dev.interrupt();
  expect(await dev.ended).toMatchObject({ code: 0 });
  const { stdout } = await gateway.cli(['versions', 'portraits@ada', '--json']);
  expect(stdout.trim().split('\n')).toHaveLength(3);
  expect(await gateway.cli(['dev', '.', '--as', '12'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--as NAME'),
  });
});
