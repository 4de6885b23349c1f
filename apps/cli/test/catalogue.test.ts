import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway } from './a-real-gateway.ts';
import type { RealGateway } from './a-real-gateway.ts';
import type { Person } from './in-process.ts';
import { temporaryFolder } from './run-cli.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** What the command prints with `--json`. */
const json = async (args: readonly string[], person?: Person): Promise<{ id: string }> => {
  const result = await gateway.cli([...args, '--json'], person);
  expect(result).toMatchObject({ code: 0 });
  return JSON.parse(result.stdout);
};
const aMachine = () =>
  json(['machines', 'create', '--name', 'node', '--gpu', 'A100', '--program', 'render-image']);
const aWorkflow = () => json(['workflows', 'create', '--name', 'portraits']);
const publish = (workflow: { id: string }, ...args: string[]) => [
  'workflows',
  'publish',
  workflow.id,
  ...args,
];

describe('runledger machines', () => {
  it('makes a machine, shows, changes and lists it', async () => {
    const comfyui = ['--comfyui', 'http://127.0.0.1:8188', '--type', 'desk'];
    const made = await gateway.cli([
      'machines',
      'create',
      '--name',
      'studio \u001B[2J',
      '--gpu',
      'L4',
      ...comfyui,
    ]);
    const id = /^id +(\S+)$/m.exec(made.stdout)?.[1] ?? '';
    expect(made.stdout).toMatch(
      /^id {7}\S{36}\nname {5}studio {2}\[2J\ngpu {6}L4\ntype {5}desk\nrunner {3}comfyui http:\S+:8188\nversion {2}1\ncreated {2}\S+Z\n$/,
    );
    await json(['machines', 'update', id, '--gpu', 'T4', '--comfyui']);
    expect((await gateway.cli(['machines', 'show', id])).stdout).toContain('runner   comfyui\nversion  2\n');
    const { stdout } = await gateway.cli(['machines', 'list', '--limit', '1']);
    const [head = '', line = ''] = stdout.split('\n');
    expect(head).toMatch(/^ID +GPU +VERSION +NAME +RUNNER$/);
    expect(line).toMatch(new RegExp(`^${id} +T4 +2 +studio  \\[2J +comfyui$`));
    expect(line.indexOf('comfyui')).toBe(head.indexOf('RUNNER'));
  });

  it('archives a machine and brings it back', async () => {
    const { id } = await aMachine();
    expect(await gateway.cli(['machines', 'archive', id])).toMatchObject({
      stdout: `Machine node is archived. Bring it back with: runledger machines restore ${id}\n`,
    });
    expect(await gateway.cli(['machines', 'list', '--archived', '--json'])).toMatchObject({
      stdout: expect.stringContaining(id),
    });
    expect((await gateway.cli(['machines', 'restore', id])).stdout).toBe('Machine node is in use again.\n');
    expect((await gateway.cli(['machines', 'list', '--archived'])).stderr).toBe(
      'There is no archived machine.\n',
    );
  });

  it.each([
    [['create', '--name', 'n', '--gpu', 'T4'], 'Add --program NAME or --comfyui [URL].'],
    [['create', '--name', 'n', '--gpu', 'T4', '--program', 'p', '--comfyui'], 'not both'],
    [['create', '--name', '', '--gpu', 'T4', '--program', 'p'], 'body.name: '],
    [['update', 'x'], 'Nothing to change was named.'],
    [['show', 'a/../../b'], 'path.machine_id: Input should be a valid UUID'],
  ])('%j is refused with a sentence', async (args, sentence) => {
    expect(await gateway.cli(['machines', ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger workflows', () => {
  it('publishes versions of files and of standard input, and lists them', async () => {
    const workflow = await aWorkflow();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'workflow.json'), '{"kind": "fractal"}');
    writeFileSync(join(cwd, 'inputs.json'), '[{"name": "size", "type": "integer", "required": true}]');
    const first = await gateway.cli(publish(workflow, '--file', 'workflow.json', '--inputs', 'inputs.json'), {
      cwd,
    });
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/number +1\n.*\ninputs +size\*\n/),
    });
    expect(first.stderr).toContain('runledger deployments update DEPLOYMENT --version');
    expect(await json(publish(workflow, '--file', '-'), { stdin: '{"kind": "other"}' })).toMatchObject({
      number: 2,
      workflow: { kind: 'other' },
      inputs: [],
    });
    const { stdout } = await gateway.cli(['workflows', 'versions', workflow.id]);
    expect(stdout).toMatch(/^ID .*INPUTS\n\S{36} {2}2 .*\n\S{36} {2}1 .* size\*\n$/);
  });

  it('renames, archives and restores a workflow', async () => {
    const { id } = await aWorkflow();
    expect(await json(['workflows', 'rename', id, 'faces'])).toMatchObject({ name: 'faces' });
    expect(await json(['workflows', 'archive', id])).toMatchObject({ archived: true });
    expect(await json(['workflows', 'restore', id])).toMatchObject({ archived: false });
    expect((await gateway.cli(['workflows', 'list'])).stdout).toMatch(/^ID .*NAME\n(?:.*\n)*.* faces\n/);
  });

  it.each([
    ['missing.json', undefined, 'there is no such file'],
    ['folder', undefined, 'it is a folder'],
    ['broken.json', undefined, 'broken.json holds no JSON: '],
    ['latin.json', undefined, 'latin.json holds no JSON: it is not UTF-8.'],
    ['large.json', undefined, 'large.json has more than 4 MiB'],
    ['-', '', 'standard input is empty'],
    ['-', JSON.stringify('a'.repeat(600_000)), 'The request is too large (The workflow may have at most'],
  ])('explains what is wrong with %s', async (file, stdin, sentence) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'broken.json'), '{"a": \u001B}');
    writeFileSync(join(cwd, 'latin.json'), Buffer.from([0x22, 0xe9, 0x22]));
    writeFileSync(join(cwd, 'large.json'), 'a'.repeat(4 * 1024 * 1024 + 1));
    const workflow = await aWorkflow();
    const person = stdin === undefined ? { cwd } : { cwd, stdin };
    const result = await gateway.cli(publish(workflow, '--file', file), person);
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
    expect(result.stderr).not.toContain('\u001B');
  });
});

describe('runledger deployments', () => {
  it('makes a deployment, changes all its settings, and lists those of a workflow', async () => {
    const [machine, workflow] = [await aMachine(), await aWorkflow()];
    const version = await json(publish(workflow, '--file', '-'), { stdin: '{}' });
    const what = ['--name', 'live', '--version', version.id, '--machine', machine.id, '--gpu', 'H100'];
    const limits = ['--run-timeout', '15m', '--start-deadline', '90', '--concurrency-limit', '4'];
    const made = await json(['deployments', 'create', ...what, ...limits]);
    expect(made).toMatchObject({
      workflow_version_id: version.id,
      machine_id: machine.id,
      environment: 'production',
      gpu: 'H100',
      run_timeout_s: 900,
      start_deadline_s: 90,
      concurrency_limit: 4,
      retry: { attempts: 3 },
    });
    const update = ['deployments', 'update', made.id, '--environment', 'staging', '--attempts', '1'];
    const { stdout } = await gateway.cli([...update, '--no-gpu', '--no-concurrency-limit']);
    expect(stdout).toContain(
      "gpu                the machine's\nconcurrency limit  none\nrun timeout        900 s\n",
    );
    expect(stdout).toMatch(/^environment +staging\n(?:.*\n)*attempts +1\n/m);
    const list = await gateway.cli(['deployments', 'list', '--workflow', workflow.id]);
    expect(list.stdout).toMatch(new RegExp(`^ID .*NAME\n${made.id}  -  +staging +${version.id}  live\n$`));
    expect(await gateway.cli(['machines', 'archive', machine.id])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^This cannot be done as things stand \(.*live/),
    });
  });

  it.each([
    [['--run-timeout', 'soon'], '--run-timeout soon is no time. Write seconds'],
    [['--attempts', '1.5'], '--attempts 1.5 is no whole number.'],
    [[], 'Nothing to change was named.'],
  ])('refuses to update with %j', async (args, sentence) => {
    expect(await gateway.cli(['deployments', 'update', gateway.deployment_id, ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger keys', () => {
  it('makes a key that can do what it was made for, lists it and revokes it', async () => {
    const args = ['keys', 'create', '--name', 'reader', '--scope', 'runs:read', '--expires-in', '30d'];
    const { stdout, stderr } = await gateway.cli(args);
    expect(stdout).toMatch(/^key +rl_\S+\nid +\S+\nname +reader\nscopes +runs:read\nexpires +\S+Z\n$/);
    expect(stderr).toBe('The key is not shown again. Keep it: only its hash is stored.\n');
    const id = /^id +(\S+)$/m.exec(stdout)?.[1] ?? '';
    const secret = /rl_\S+/.exec(stdout)?.[0] ?? '';
    const list = await gateway.cli(['keys', 'list']);
    expect(list.stdout).toMatch(new RegExp(`^ID .*NAME\n(?:.*\n)*${id} .*runs:read .* reader\n`));
    expect(list.stdout).not.toContain(secret);
    expect(await gateway.cli(['keys', 'revoke', id])).toMatchObject({
      code: 0,
      stdout: `The key ${id} is revoked: it is refused everywhere within a second.\n`,
    });
    expect(await gateway.cli(['keys', 'revoke', id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('API key not found'),
    });
  });
});
