import { describe, expect, it } from 'vitest';
import { aCatalogue } from '../fixtures/real-catalogue.ts';

const { cli, json, read } = aCatalogue();

const PROGRAM = ['--gpu', 'RTX4090', '--program', 'render-image'];
const NODES = '{"3": {"class_type": "KSampler", "inputs": {"seed": 1}}}';

const deploy = (name: string, workflow: string, ...options: string[]) =>
  json(['deploy', '-', '--name', name, ...options], { stdin: workflow });

const outcomes = (deployed: object): Record<string, string> =>
  Object.fromEntries(Object.entries(deployed).map(([what, { outcome }]) => [what, outcome]));

const ALL_NEW = { machine: 'new', workflow: 'new', version: 'new', deployment: 'new' };
const UNCHANGED = {
  machine: 'unchanged',
  workflow: 'unchanged',
  version: 'unchanged',
  deployment: 'unchanged',
};

describe('runledger deploy', () => {
  it('makes all that a deployment needs, and a repeated command changes nothing', async () => {
    const first = await deploy('portrait', '{"steps": 3, "of": {"a": 1, "b": 2}}', ...PROGRAM);
    expect(outcomes(first)).toEqual(ALL_NEW);
    const again = await deploy('portrait', '{"of": {"b": 2, "a": 1}, "steps": 3}', ...PROGRAM);
    expect(outcomes(again)).toEqual(UNCHANGED);
    expect(await json(['deployments', 'show', 'portrait'])).toMatchObject({
      machine_id: Reflect.get(first, 'machine').id,
      workflow_version_id: Reflect.get(first, 'version').id,
      gpu: null,
    });
    const run = await json(['queue', '--deployment', 'portrait']);
    expect(await read(`/run/${Reflect.get(run, 'run_id')}`)).toMatchObject({ gpu: 'RTX4090' });
  });

  it('updates what differs, and nothing else', async () => {
    await deploy('sketch', '{"steps": 3}', ...PROGRAM);
    expect(outcomes(await deploy('sketch', '{"steps": 4}'))).toEqual({
      ...UNCHANGED,
      version: 'new',
      deployment: 'updated',
    });
    expect(outcomes(await deploy('sketch', '{"steps": 4}', '--gpu', 'H200'))).toEqual({
      ...UNCHANGED,
      machine: 'updated',
    });
    expect(await json(['machines', 'show', 'sketch'])).toMatchObject({ gpu: 'H200', version: '2' });
  });

  it('uses a machine that exists', async () => {
    const machine = await json(['machines', 'create', '--name', 'shared', ...PROGRAM]);
    const deployed = await deploy('on shared', '{}', '--machine', 'shared', '--gpu', 'L4');
    expect(deployed).toMatchObject({ machine: { id: machine.id, outcome: 'unchanged' } });
    expect(await json(['deployments', 'show', 'on shared'])).toMatchObject({ gpu: 'L4' });
    expect(await json(['machines', 'show', 'shared'])).toMatchObject({ gpu: 'RTX4090' });
  });

  it('prints what it did, and lines that queue a run', async () => {
    const { stdout, stderr } = await cli(['deploy', '-', '--name', "Anna's", '--gpu', 'CPU', '--comfyui'], {
      stdin: NODES,
    });
    expect(stdout).toMatch(
      /^WHAT +ID +NOW +NAME\nmachine +\S{36} {2}new +Anna's\nworkflow +\S{36} {2}new +Anna's\nversion +\S{36} {2}new +1\ndeployment +\S{36} {2}new +Anna's\n\nQueue a run with:\n\n/,
    );
    const [, url, body = ''] = /curl -s (\S+) -H .* -d '(.*)'\n/.exec(stdout) ?? [];
    expect(url).toMatch(/^http:\/\/\S+\/api\/run\/deployment\/queue$/);
    const { deployment_id, inputs } = JSON.parse(body);
    expect(inputs).toEqual({});
    expect(stdout).toContain(`  runledger queue --watch --deployment 'Anna'\\''s'\n`);
    expect(stderr).toContain('$RUNLEDGER_API_KEY stands for your key.');
    expect((await cli(['queue', '--deployment', deployment_id])).code).toBe(0);
  });

  it.each([
    [[], '{}', 'There is no machine fresh yet. Say how it executes: --program NAME,'],
    [['--program', 'p'], '{}', 'There is no machine fresh yet. Add --gpu MODEL'],
    [['--machine', 'm', '--program', 'p'], '{}', 'Use --machine or a runner, not both.'],
    [['--gpu', 'CPU', '--comfyui'], '{"nodes": [], "links": []}', 'choose Workflow, Export (API)'],
    [['--gpu', 'CPU', '--comfyui'], '{"3": {"inputs": {}}}', '"3" has no class_type.'],
    [['--gpu', 'CPU', '--comfyui'], '[]', 'It has no nodes.'],
    [PROGRAM, 'nonsense', 'FILE: standard input'],
  ])('refuses %j with %s, and makes nothing', async (options, workflow, sentence) => {
    const refused = await cli(['deploy', '-', '--name', 'fresh', ...options], { stdin: workflow });
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
    for (const kind of ['machines', 'workflows', 'deployments'])
      expect(await cli([kind, 'show', 'fresh'])).toMatchObject({ code: 2 });
  });
});
