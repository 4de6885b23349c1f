import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { runApi } from '../fixtures/run-api.ts';
import { jsonOfCli } from '../fixtures/run-cli.ts';
import { startStandalone } from '../fixtures/start-standalone.ts';

/** Prints what it got, and numbers of its own. */
const ECHO = `cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"
seed=$(sed -E 's/.*"seed":(-?[0-9.eE+]*).*/\\1/' "$RUNLEDGER_OUTPUT_DIR/stdin.json")
printf '{"output": {"seed": %s, "ids": [9007199254740993, 18446744073709551615, 4.0], "json": {"id": 18446744073709551615}}}\\n' "$seed"
printf '{"progress": 1.0}\\n'`;

it('an integer of 64 bits comes to the program and back as it was written', async () => {
  await using standalone = await startStandalone({
    env: { EXECUTOR_PROGRAMS: JSON.stringify({ echo: ['/bin/sh', '-c', ECHO] }) },
  });
  const { dataFolder } = standalone;
  const api = runApi(standalone);
  const cli = (...args: string[]) => jsonOfCli(args, dataFolder);
  const folder = join(dataFolder, 'workflow');
  await mkdir(folder);
  const [workflow, inputs] = ['workflow.json', 'inputs.json'].map((name) => join(folder, name));
  const nodes = '{"3":{"class_type":"KSampler","inputs":{"seed":1125899906842624123,"cfg":4.0}}}';
  await writeFile(String(workflow), nodes);
  const seed =
    '{"name": "seed", "type": "integer", "maximum": 18446744073709551615, "default": 9007199254740993}';
  await writeFile(String(inputs), `[${seed}]`);
  const program = ['--gpu', 'A10G', '--program', 'echo'];
  await cli('deploy', String(workflow), '--name', 'seeds', ...program, '--inputs', String(inputs));

  for (const [given, digits] of [
    [['--input', 'seed=6687881544318117707'], '6687881544318117707'],
    [['--input', 'seed="18446744073709551615"'], '18446744073709551615'],
    [[], '9007199254740993'],
  ] as const) {
    const { run_id } = await cli('queue', '--deployment', 'seeds', ...given);
    const run = await waitFor(
      'the end of the run',
      async () => {
        const shown = await api.get(run_id);
        return shown.finished ? shown : undefined;
      },
      { withinMs: 60_000 },
    );
    expect(run).toMatchObject({ status: 'success', progress: 1 });
    const data = run.outputs.reduce((all, output) => ({ ...all, ...output.data }), {});
    expect(data).toMatchObject({
      seed: [digits],
      ids: ['9007199254740993', '18446744073709551615', '4.0'],
    });
    // Read before, so the response is kept as a text: who can read numbers gets another one.
    for (const [accept, id] of [
      ['application/json', '"18446744073709551615"'],
      ['application/json; numbers=exact', '18446744073709551615'],
    ] as const) {
      const headers = { authorization: `Bearer ${standalone.api_key}`, accept };
      const answer = await fetch(`${standalone.url}/run/${run_id}`, { headers });
      expect(await answer.text()).toContain(`"json":[{"id":${id}}]`);
      expect(answer.headers.get('vary')).toBe('Accept');
    }
    const [file] = run.outputs
      .flatMap((output) => Object.values(output.data).flat())
      .flatMap((item) => (typeof item === 'object' && 'url' in item ? [item] : []));
    const stdin = await (await fetch(String(file?.url))).text();
    expect(stdin).toContain(`"workflow":${nodes}`);
    expect(stdin).toContain(`"inputs":{"seed":${digits}}`);
  }
});
