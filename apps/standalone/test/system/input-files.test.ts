import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { runApi } from '../fixtures/run-api.ts';
import { jsonOfCli } from '../fixtures/run-cli.ts';
import { startStandalone } from '../fixtures/start-standalone.ts';

const COPY = 'cp "$RUNLEDGER_INPUT_DIR"/* "$RUNLEDGER_OUTPUT_DIR"; cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"';

it('a run gets an uploaded file, and the output of another run, in its input folder', async () => {
  await using standalone = await startStandalone({
    env: { EXECUTOR_PROGRAMS: JSON.stringify({ copy: ['/bin/sh', '-c', COPY] }) },
  });
  const { dataFolder } = standalone;
  const api = runApi(standalone);
  const cli = (...args: string[]) => jsonOfCli(args, dataFolder);
  const bytes = randomBytes(1_000_000);
  const [photo, inputs, workflow] = ['photo.png', 'inputs.json', 'workflow.json'].map((name) =>
    join(dataFolder, name),
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
    const run = await waitFor(
      'the end of the run',
      async () => {
        const shown = await api.get(run_id);
        return shown.finished ? shown : undefined;
      },
      { withinMs: 60_000 },
    );
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
