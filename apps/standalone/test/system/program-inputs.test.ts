import { randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runApi, type RunApi } from '../fixtures/run-api.ts';
import { jsonOfCli } from '../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

/** Prints what it got, and numbers of its own. */
const ECHO = `cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"
seed=$(sed -E 's/.*"seed":(-?[0-9.eE+]*).*/\\1/' "$RUNLEDGER_OUTPUT_DIR/stdin.json")
printf '{"output": {"seed": %s, "ids": [9007199254740993, 18446744073709551615, 4.0], "json": {"id": 18446744073709551615}}}\\n' "$seed"
printf '{"progress": 1.0}\\n'`;

const COPY = 'cp "$RUNLEDGER_INPUT_DIR"/* "$RUNLEDGER_OUTPUT_DIR"; cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"';

let standalone: Standalone;
let api: RunApi;
beforeAll(async () => {
  const programs = { echo: ['/bin/sh', '-c', ECHO], copy: ['/bin/sh', '-c', COPY] };
  standalone = await startStandalone({ env: { EXECUTOR_PROGRAMS: JSON.stringify(programs) } });
  api = runApi(standalone);
}, 120_000);
afterAll(() => standalone.stop());

const cli = (...args: string[]) => jsonOfCli(args, standalone.dataFolder);
const emptyFolder = (): Promise<string> => mkdtemp(join(standalone.dataFolder, 'workflow-'));

it('an integer of 64 bits comes to the program and back as it was written', async () => {
  const folder = await emptyFolder();
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
    const run = await api.ended(run_id, 60_000);
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

it('a run gets an uploaded file, and the output of another run, in its input folder', async () => {
  const folder = await emptyFolder();
  const bytes = randomBytes(1_000_000);
  const [photo, inputs, workflow] = ['photo.png', 'inputs.json', 'workflow.json'].map((name) =>
    join(folder, name),
  );
  await writeFile(String(photo), bytes);
  await writeFile(String(inputs), JSON.stringify([{ name: 'photo', type: 'image', required: true }]));
  await writeFile(String(workflow), '{}');
  await cli('workflows', 'create', '--name', 'copy');
  await cli('workflows', 'publish', 'copy', '--file', String(workflow), '--inputs', String(inputs));
  await cli('machines', 'create', '--name', 'copier', '--gpu', 'A10G', '--program', 'copy');
  await cli('deployments', 'create', '--name', 'copy', '--version', 'copy@1', '--machine', 'copier');
  const queue = async (value: string) => {
    const { run_id } = await cli('queue', '--deployment', 'copy', '--input', `photo=${value}`);
    const run = await api.ended(run_id, 60_000);
    expect(run.status).toBe('success');
    const files = Object.values(run.outputs[0]?.data ?? {})
      .flat()
      .flatMap((item) => (typeof item === 'object' ? [item] : []));
    return new Map(files.map(({ filename, url }) => [filename, url]));
  };
  const read = async (url: string | undefined) => Buffer.from(await (await fetch(String(url))).arrayBuffer());

  const first = await queue(`@${photo}`);
  expect((await read(first.get('photo.png'))).equals(bytes)).toBe(true);
  expect(JSON.parse(String(await read(first.get('stdin.json'))))).toMatchObject({
    inputs: { photo: 'photo.png' },
  });
  const second = await queue(String(first.get('photo.png')));
  expect((await read(second.get('photo.png'))).equals(bytes)).toBe(true);
});
