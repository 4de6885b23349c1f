import { DeploymentChange } from '@runledger/contracts/http/catalogue/deployments';
import { describe, expect, it } from 'vitest';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aCatalogue } from '../fixtures/real-catalogue.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const { cli, json, read } = aCatalogue();

const PROGRAM = ['--gpu', 'RTX4090', '--program', 'render-image'];
const NODES = '{"3": {"class_type": "KSampler", "inputs": {"seed": 1}}}';

const deploy = (name: string, workflow: string, ...options: string[]) =>
  json(['deploy', '-', '--name', name, ...options], { stdin: workflow });

const deployWould = async (...given: Parameters<typeof deploy>) => {
  const { dry_run, ...planned } = (await deploy(...given, '--dry-run')) as { dry_run?: boolean };
  expect(dry_run).toBe(true);
  return planned;
};

const outcomes = (deployed: object): Record<string, string> =>
  Object.fromEntries(Object.entries(deployed).map(([what, { outcome }]) => [what, outcome]));

const ALL_NEW = { machine: 'new', workflow: 'new', version: 'new', deployment: 'new' };
const UNCHANGED = {
  machine: 'unchanged',
  workflow: 'unchanged',
  version: 'unchanged',
  deployment: 'unchanged',
};

/** What a deployment is, beside its settings, and what only a folder with code has. */
const OF_ITSELF: ReadonlySet<string> = new Set([
  'name',
  'workflow_version_id',
  'machine_id',
  'archived',
  'keep_prepared',
  'keep_loaded',
]);

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

  it('says with --dry-run what it would do, and does nothing', async () => {
    expect(outcomes(await deployWould('planned', '{"steps": 3}', ...PROGRAM))).toEqual(ALL_NEW);
    expect((await cli(['machines', 'show', 'planned'])).code).toBe(2);
    await deploy('planned', '{"steps": 3}', ...PROGRAM);
    expect(outcomes(await deployWould('planned', '{"steps": 3}', ...PROGRAM))).toEqual(UNCHANGED);
    expect(outcomes(await deployWould('planned', '{"steps": 4}', '--gpu', 'H200'))).toEqual({
      machine: 'updated',
      workflow: 'unchanged',
      version: 'new',
      deployment: 'updated',
    });
    expect(outcomes(await deploy('planned', '{"steps": 3}', ...PROGRAM))).toEqual(UNCHANGED);
  });

  it('sends numbers as they are written, and knows them again', async () => {
    const workflow =
      '{"3":{"class_type":"KSampler","inputs":{"seed":1125899906842624123,"noise_seed":18446744073709551615,"cfg":4.0}}}';
    const inputs = [
      '{"name": "seed", "type": "integer", "maximum": 18446744073709551615, "default": 9007199254740993}',
    ];
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'inputs.json'), `[${inputs.join()}]`);
    const seeds = ['deploy', '-', '--name', 'seeds', ...PROGRAM, '--inputs', 'inputs.json'];
    expect(outcomes(await json(seeds, { cwd, stdin: workflow }))).toEqual(ALL_NEW);
    expect(outcomes(await json(seeds, { cwd, stdin: workflow }))).toEqual(UNCHANGED);
    const shown = await cli(['workflows', 'version', 'show', 'seeds', '1', '--workflow', '--json']);
    expect(shown.stdout).toBe(`${workflow}\n`);
    const seedOf = async (...given: string[]) => {
      const run = await json(['queue', '--deployment', 'seeds', ...given]);
      return read(`/run/${Reflect.get(run, 'run_id')}?include=inputs`);
    };
    for (const [given, seed] of [
      [[], '9007199254740993'],
      [['--input', 'seed=2512292042121000001'], '2512292042121000001'],
      [['--input', 'seed="18446744073709551615"'], '18446744073709551615'],
      [['--inputs', '{"seed": 6687881544318117707}'], '6687881544318117707'],
    ] as const)
      expect(await seedOf(...given)).toMatchObject({ workflow_inputs: { seed } });
    const refused = await cli(['queue', '--deployment', 'seeds', '--input', 'seed=18446744073709551616']);
    expect(refused.stderr).toContain('Send 18446744073709551615 or less');
    const large = await cli(['queue', '--deployment', 'seeds', '--input', 'seed=1e400']);
    expect(large.stderr).toContain('the number 1e400 is too large');
  });

  const INPUTS = [{ name: 'seed', type: 'integer', minimum: 0, node: '3', field: 'seed' }];
  const definitionsOf = async (deployed: object): Promise<unknown> => {
    const { id } = Reflect.get(deployed, 'workflow');
    const version = Reflect.get(deployed, 'version');
    return (await read(`/workflows/${id}/versions/${version.id}`)).inputs;
  };

  it('keeps the input definitions of the present version, until it is told otherwise', async () => {
    const given = join(temporaryFolder(), 'inputs.json');
    writeFileSync(given, JSON.stringify(INPUTS));
    const program = ['--program', 'x', '--gpu', 'CPU'];
    await deploy('definitions', NODES, ...program, '--inputs', given);
    expect(outcomes(await deploy('definitions', NODES))).toEqual(UNCHANGED);
    const changed = await deploy('definitions', NODES.replace('1', '2'));
    expect(outcomes(changed)).toMatchObject({ version: 'new', deployment: 'updated' });
    expect(await definitionsOf(changed)).toEqual([{ ...INPUTS[0], required: false }]);

    const other = await cli(['deploy', '-', '--name', 'definitions'], { stdin: '{}' });
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no node "3"[^]*definitions are those of version 2.*--no-inputs/),
    });
    const without = await deploy('definitions', '{}', '--no-inputs');
    expect(await definitionsOf(without)).toEqual([]);
  });

  it('makes nothing when it is refused, and leaves everything as it was', async () => {
    const named = async (list: string): Promise<string[]> =>
      (
        await Promise.all([false, true].map((archived) => read(`/${list}?limit=100&archived=${archived}`)))
      ).flatMap((page) => page[list].map(({ name }: { name: string }) => name));
    const records = async (): Promise<unknown> => (await read('/usage')).catalogue_records;
    const refused = async (name: string, ...options: string[]): Promise<string> => {
      const before = await records();
      const result = await cli(['deploy', '-', '--name', name, ...options], { stdin: NODES });
      expect(result.code).toBe(2);
      expect(await records()).toEqual(before);
      return result.stderr;
    };
    const bad = join(temporaryFolder(), 'inputs.json');
    writeFileSync(bad, JSON.stringify([{ name: 'seed', type: 'integer', mni: 0 }]));
    expect(await refused('refused', ...PROGRAM, '--inputs', bad)).toContain('did you mean minimum?');
    expect(await refused('refused', ...PROGRAM, '--log-mask', '(')).toContain('log_masks');
    const archived = await json(['machines', 'create', '--name', 'gone', ...PROGRAM]);
    await json(['machines', 'archive', archived.id]);
    expect(await refused('refused', '--machine', archived.id)).toContain('The machine is archived');
    for (const list of ['machines', 'workflows', 'deployments'])
      expect(await named(list)).not.toContain('refused');
    const deployed = await deploy('refused', NODES, ...PROGRAM);
    expect(outcomes(deployed)).toEqual(ALL_NEW);
    const given = join(temporaryFolder(), 'given.json');
    writeFileSync(given, JSON.stringify(INPUTS));
    await refused('refused', '--gpu', 'H200', '--log-mask', '(', '--inputs', given);
    expect(await json(['machines', 'show', 'refused'])).toMatchObject({ gpu: 'RTX4090' });
    const versions = await read(`/workflows/${Reflect.get(deployed, 'workflow').id}/versions`);
    expect(versions.versions).toHaveLength(1);
  });

  it('says that a seed is the same for each run, and makes it a random input when it is told so', async () => {
    // As ComfyUI's page sends it.
    const workflow = JSON.stringify({ prompt: JSON.parse(NODES) as object, extra_data: {} });
    const comfyui = ['deploy', '-', '--name', 'noise', '--gpu', 'CPU', '--comfyui'];
    const fixed = await cli(comfyui, { stdin: workflow });
    expect(fixed).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/the same seed of node 3\. With --random-seeds/),
    });
    const seed = { name: 'seed', type: 'integer', required: false, random: true, node: '3', field: 'seed' };
    const drawn = await cli([...comfyui, '--random-seeds'], { stdin: workflow });
    expect(drawn).toMatchObject({ code: 0, stderr: expect.not.stringContaining('--random-seeds') });
    // Also when it is repeated, and by a command that does not say it.
    for (const options of [['--random-seeds'], []]) {
      const again = await deploy('noise', workflow, ...options);
      expect(outcomes(again)).toEqual(UNCHANGED);
      expect(await definitionsOf(again)).toEqual([seed]);
    }
  });

  it('uses a machine that exists', async () => {
    const machine = await json(['machines', 'create', '--name', 'shared', ...PROGRAM]);
    const deployed = await deploy('on shared', '{}', '--machine', 'shared', '--gpu', 'L4');
    expect(deployed).toMatchObject({ machine: { id: machine.id, outcome: 'unchanged' } });
    expect(await json(['deployments', 'show', 'on shared'])).toMatchObject({ gpu: 'L4' });
    expect(await json(['machines', 'show', 'shared'])).toMatchObject({ gpu: 'RTX4090' });
  });

  it('sets all that a deployment can have, and leaves what a later command does not name', async () => {
    const settings = {
      '--environment': 'staging',
      '--gpus': 'l4, A10G:60,T4:2m',
      '--label': 'nvlink',
      '--warm-wait': '30',
      '--concurrency-limit': '4',
      '--weight': '0.5',
      '--run-timeout': '15m',
      '--start-deadline': '1h',
      '--min-priority': '-5',
      '--max-priority': '10',
      '--max-delay': '1d',
      '--attempts': '2',
      '--retry-on': 'crashed, out_of_memory',
      '--log-mask': 'key-[0-9]{4,8}',
      '--if-no-output': 'error',
    };
    const options = Object.entries(settings).flat();
    const all = {
      environment: 'staging',
      gpu: 'L4',
      gpus: [
        { gpu: 'L4', after_s: 0 },
        { gpu: 'A10G', after_s: 60 },
        { gpu: 'T4', after_s: 120 },
      ],
      labels: ['nvlink', 'zone:eu'],
      warm_wait_s: 30,
      concurrency_limit: 4,
      weight: 0.5,
      strict_inputs: true,
      if_no_output: 'error',
      run_timeout_s: 900,
      start_deadline_s: 3600,
      bounds: { min_priority: -5, max_priority: 10, max_delay_s: 86_400 },
      retry: { attempts: 2, on: ['crashed', 'out_of_memory'] },
      log_masks: ['key-[0-9]{4,8}'],
    };
    const settable = Object.keys(DeploymentChange.properties).filter((name) => !OF_ITSELF.has(name));
    expect(Object.keys(all).toSorted()).toEqual(settable.toSorted());
    const more = ['--label', 'zone:eu', '--program', 'render-image', '--strict-inputs'];
    expect(outcomes(await deploy('tuned', '{}', ...options, ...more))).toEqual(ALL_NEW);
    expect(await json(['deployments', 'show', 'tuned'])).toMatchObject(all);
    expect(await json(['machines', 'show', 'tuned'])).toMatchObject({ gpu: 'L4' });
    expect(outcomes(await deploy('tuned', '{}', ...options, ...more))).toEqual(UNCHANGED);
    expect(outcomes(await deploy('tuned', '{}', '--retry-on', 'crashed'))).toEqual({
      ...UNCHANGED,
      deployment: 'updated',
    });
    const changed = { ...all, retry: { attempts: 2, on: ['crashed'] } };
    expect(await json(['deployments', 'show', 'tuned'])).toMatchObject(changed);
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
    const { deployment, ...more } = JSON.parse(body.replaceAll(`'\\''`, "'"));
    expect([deployment, more]).toEqual(["Anna's", { inputs: {} }]);
    expect(stdout).toContain(`  runledger queue --watch --deployment 'Anna'\\''s'\n`);
    expect(stderr).toContain('$RUNLEDGER_API_KEY stands for your key.');
    expect((await cli(['queue', '--deployment', deployment])).code).toBe(0);
  });

  it.each([
    [[], '{}', 'There is no machine fresh yet. Say how it executes: --program NAME,'],
    [['--program', 'p'], '{}', 'There is no machine fresh yet. Add --gpu MODEL'],
    [['--machine', 'm', '--program', 'p'], '{}', 'Use --machine or a runner, not both.'],
    [['--gpu', 'CPU', '--comfyui'], '{"nodes": [], "links": []}', 'choose Workflow, Export (API)'],
    [['--gpu', 'CPU', '--comfyui'], '{"3": {"inputs": {}}}', '"3" has no class_type.'],
    [['--gpu', 'CPU', '--comfyui'], '[]', 'It has no nodes.'],
    [[...PROGRAM, '--gpus', 'L4,,T4'], '{}', '--gpus L4,,T4 has an empty place.'],
    [[...PROGRAM, '--gpus', 'L4,two words'], '{}', '--gpus: two words is not a GPU model: 1 to 40 letters'],
    [[...PROGRAM, '--gpus', 'L4,A10G:soon'], '{}', '--gpus A10G: soon is not a time. Write seconds'],
    [[...PROGRAM, '--gpus', 'L4,A10G:1:2'], '{}', '--gpus: A10G:1:2 has more than one time.'],
    [[...PROGRAM, '--warm-wait', 'long'], '{}', '--warm-wait long is not a time.'],
    [[...PROGRAM, '--weight', 'much'], '{}', '--weight much is not a number.'],
    [PROGRAM, 'nonsense', 'FILE: standard input'],
  ])('refuses %j with %s, and makes nothing', async (options, workflow, sentence) => {
    const refused = await cli(['deploy', '-', '--name', 'fresh', ...options], { stdin: workflow });
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
    for (const kind of ['machines', 'workflows', 'deployments'])
      expect(await cli([kind, 'show', 'fresh'])).toMatchObject({ code: 2 });
  });
});
