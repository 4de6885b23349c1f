import { describe, expect, it } from 'vitest';
import { aCatalogue } from '../fixtures/real-catalogue.ts';

const { cli, json, aMachine, aWorkflow, publish } = aCatalogue();

describe('runledger machines', () => {
  it('creates, shows, changes and lists a machine', async () => {
    const comfyui = ['--comfyui', 'http://127.0.0.1:8188', '--type', 'desk \u001B[2J'];
    const made = await cli(['machines', 'create', '--name', 'studio', '--gpu', 'L4', ...comfyui]);
    expect(made).toMatchObject({ stdout: expect.stringMatching(/^[\da-f-]{36}\n$/), stderr: '' });
    const id = made.stdout.trim();
    expect((await cli(['machines', 'show', id])).stdout).toMatch(
      /^id {7}\S{36}\nname {5}studio\ngpu {6}L4\ntype {5}desk {2}\[2J\nrunner {3}comfyui http:\S+:8188\nversion {2}1\ncreated {2}\S+Z\n$/,
    );
    expect((await cli(['machines', 'update', id, '--cog', 'flux'])).stdout).toContain('runner   cog flux\n');
    await json(['machines', 'update', id, '--gpu', 'T4', '--comfyui']);
    expect((await cli(['machines', 'show', id])).stdout).toContain('runner   comfyui\nversion  3\n');
    const { stdout } = await cli(['machines', 'list', '--limit', '1']);
    const [head = '', line = ''] = stdout.split('\n');
    expect(head).toMatch(/^ID +GPU +VERSION +NAME +RUNNER$/);
    expect(line).toMatch(new RegExp(`^${id} +T4 +3 +studio +comfyui$`));
    expect(line.indexOf('comfyui')).toBe(head.indexOf('RUNNER'));
  });

  it('archives and restores a machine', async () => {
    const { id } = await aMachine();
    expect(await cli(['machines', 'archive', id])).toMatchObject({
      stdout: `Machine node is archived. Restore it with: runledger machines restore ${id}\n`,
    });
    expect(await cli(['machines', 'list', '--archived', '--json'])).toMatchObject({
      stdout: expect.stringContaining(id),
    });
    expect((await cli(['machines', 'restore', id])).stdout).toBe('Machine node is restored.\n');
    expect((await cli(['machines', 'list', '--archived'])).stderr).toBe('There is no archived machine.\n');
  });

  it.each([
    [['create', '--name', 'n', '--gpu', 'T4'], 'Add --program NAME, --cog MODEL or --comfyui [URL].'],
    [['create', '--name', 'n', '--gpu', 'T4', '--program', 'p', '--comfyui'], 'one runner'],
    [['create', '--name', 'n', '--gpu', 'T4', '--cog', 'a/b'], 'body.runner.model: '],
    [['create', '--name', '', '--gpu', 'T4', '--program', 'p'], 'body.name: '],
    [['update', 'x'], 'No change was given.'],
    [['show', 'a/../../b'], 'No machine has the name or the id a/../../b.'],
  ])('refuses %j with a sentence', async (args, sentence) => {
    expect(await cli(['machines', ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger deployments', () => {
  it('creates a deployment, changes its settings, and lists the deployments of a workflow', async () => {
    const [machine, workflow] = [await aMachine(), await aWorkflow()];
    const version = await json(publish(workflow, '--file', '-'), { stdin: '{}' });
    const what = ['--name', 'live', '--version', version.id, '--machine', machine.id, '--gpu', 'H100'];
    const limits = [
      '--run-timeout',
      '15m',
      '--start-deadline',
      '90',
      '--concurrency-limit',
      '4',
      '--weight',
      '0.5',
      '--label',
      'nvlink',
      '--label',
      'zone:eu',
      '--max-priority',
      '10',
      '--max-delay',
      '1d',
    ];
    const made = await json(['deployments', 'create', ...what, ...limits]);
    expect(made).toMatchObject({
      workflow_version_id: version.id,
      machine_id: machine.id,
      environment: 'production',
      gpu: 'H100',
      run_timeout_s: 900,
      start_deadline_s: 90,
      concurrency_limit: 4,
      weight: 0.5,
      labels: ['nvlink', 'zone:eu'],
      bounds: { min_priority: -100, max_priority: 10, max_delay_s: 86_400 },
      retry: { attempts: 3 },
    });
    const update = ['deployments', 'update', made.id, '--environment', 'staging', '--attempts', '1'];
    const { stdout } = await cli([
      ...update,
      '--no-gpu',
      '--no-label',
      '--no-concurrency-limit',
      '--no-bounds',
      '--no-retry-on',
      '--no-log-mask',
    ]);
    expect(stdout).toContain(
      "gpu                the machine's\nlabels             none\nwarm wait          0 s\nkeep prepared      0\nkeep loaded        0\nconcurrency limit  none\nweight             0.5\nrun timeout        900 s\n",
    );
    expect(stdout).toMatch(/^bounds +priority from -100 to 100\n/m);
    expect(stdout).toMatch(
      /^environment +staging\n(?:.*\n)*attempts +1\nretry on +loss of the executor\nif no output +warn\nlog masks +none\n/m,
    );
    const list = await cli(['deployments', 'list', '--workflow', workflow.id]);
    expect(list.stdout).toMatch(new RegExp(`^ID .*NAME\n${made.id}  -  +staging +${version.id}  live\n$`));
    expect(await cli(['machines', 'archive', machine.id])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^The present state does not allow this: .*live/),
    });
    const models = await cli(['deployments', 'update', made.id, '--gpus', 'l4, A10G:90,T4:2m']);
    expect(models.stdout).toMatch(/^gpu +L4, A10G after 90 s, T4 after 120 s$/m);
  });

  it.each([
    [['--run-timeout', 'soon'], '--run-timeout soon is not a time. Write seconds'],
    [['--weight', 'much'], '--weight much is not a number.'],
    [['--attempts', '1.5'], '--attempts 1.5 is not a whole number.'],
    [[], 'No change was given.'],
  ])('refuses to update with %j', async (args, sentence) => {
    expect(await cli(['deployments', 'update', 'x', ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger keys', () => {
  it('creates a working key, lists it and revokes it', async () => {
    const args = ['keys', 'create', '--name', 'reader', '--scope', 'runs:read', '--expires-in', '30d'];
    const { stdout, stderr } = await cli(args);
    expect(stdout).toMatch(/^rl_\S+\n$/);
    const secret = stdout.trim();
    expect(stderr).toMatch(
      /^The key is not shown again\. Save it now: only its hash is stored\. Its id is \S{36}\.\n$/,
    );
    const id = /id is (\S+)\.\n/.exec(stderr)?.[1] ?? '';
    const list = await cli(['keys', 'list']);
    expect(list.stdout).toMatch(new RegExp(`^ID .*NAME\n(?:.*\n)*${id} .*runs:read .* reader\n`));
    expect(list.stdout).not.toContain(secret);
    expect(await cli(['keys', 'revoke', id])).toMatchObject({
      code: 0,
      stdout: `The key ${id} is revoked. Every gateway refuses it, and all keys that were made with it, within a second.\n`,
    });
    expect(await cli(['keys', 'revoke', id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('API key not found'),
    });
  });
});
