import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
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

/** Its first attempt fails. Each attempt waits for a file of the test. */
const programOf = (folder: string): string => `
  trap 'printf "it was stopped" >&2; exit 1' TERM
  echo "attempt $RUNLEDGER_ATTEMPT has the key sk-s3cret"
  until [ -e '${folder}/go-'$RUNLEDGER_ATTEMPT ]; do sleep 0.1; done
  echo "attempt $RUNLEDGER_ATTEMPT ends with sk-s3cret" >&2
  [ "$RUNLEDGER_ATTEMPT" = 2 ]`;

let standalone: Standalone;
let api: RunApi;
let signals: string;
beforeAll(async () => {
  signals = mkdtempSync(join(tmpdir(), 'standalone-programs-'));
  // Programs of the executor may have another user.
  chmodSync(signals, 0o755);
  const programs = {
    'render-image': { command: 'sh', args: ['-c', programOf(signals)], readable: [signals] },
    echo: ['/bin/sh', '-c', ECHO],
    copy: ['/bin/sh', '-c', COPY],
  };
  const env = { EXECUTOR_GPUS: 'A10G:1', EXECUTOR_PROGRAMS: JSON.stringify(programs) };
  standalone = await startStandalone({ env });
  api = runApi(standalone);
}, 120_000);
afterAll(async () => {
  await standalone.stop();
  rmSync(signals, { recursive: true, force: true });
});

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

const request = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${standalone.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${standalone.api_key}`, 'content-type': 'application/json' },
  });

it('the logs of a run are live over its attempts, masked, and kept with it until it is deleted', async () => {
  const settings = { retry: { attempts: 2, on: ['program_exit'] }, log_masks: ['sk-[a-z0-9]+'] };
  const deployment = `/deployments/${standalone.deployment_id}`;
  const changed = await request(deployment, { method: 'PATCH', body: JSON.stringify(settings) });
  expect(changed.status).toBe(200);
  const run = await api.queue();
  let streamed = '';
  const stream = await request(`/run/${run}/logs?follow=1`);
  const ended = (async () => {
    for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) streamed += piece;
  })();
  const letEnd = (attempt: number): void => writeFileSync(join(signals, `go-${attempt}`), '');

  await waitFor('the first line, while the program waits', () =>
    streamed.includes('attempt 1 has the key ***'),
  );
  letEnd(1);
  await waitFor('the other attempt', () => streamed.includes('attempt 2 has the key ***'));
  letEnd(2);
  await ended;
  expect(streamed).toMatch(/event: end\ndata: {"status":"success"}\n\n$/);

  const text = await (await request(`/run/${run}/logs`)).text();
  const items = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(items.map(({ attempt, stream: from, line }) => [attempt, from, line])).toEqual([
    [1, 'stdout', 'attempt 1 has the key ***'],
    [1, 'stderr', 'attempt 1 ends with ***'],
    [2, 'stdout', 'attempt 2 has the key ***'],
    [2, 'stderr', 'attempt 2 ends with ***'],
  ]);
  expect(JSON.stringify([streamed, text, await api.get(run)])).not.toContain('s3cret');

  expect((await request(`/run/${run}`, { method: 'DELETE' })).status).toBe(200);
  expect((await request(`/run/${run}/logs`)).status).toBe(404);
});
