import { describe, expect, it } from 'vitest';
import { aCatalogue } from '../fixtures/real-catalogue.ts';

const { cli, json, read } = aCatalogue();

const MACHINE = ['--gpu', 'L4', '--program', 'render-image'];

describe('names stand for ids', () => {
  it('from a machine and a workflow to a deployment and its runs', async () => {
    const machine = await json(['machines', 'create', '--name', 'studio one', ...MACHINE]);
    const workflow = await json(['workflows', 'create', '--name', 'por@trait']);
    await json(['workflows', 'publish', 'por@trait', '--file', '-'], { stdin: '{"a":1}' });
    const second = await json(['workflows', 'publish', 'por@trait', '--file', '-'], { stdin: '{"a":2}' });
    const uses = ['--version', 'por@trait@2', '--machine', 'studio one'];
    const made = await json(['deployments', 'create', '--name', 'live', ...uses]);
    expect(made).toMatchObject({ workflow_version_id: second.id, machine_id: machine.id });
    const run = await json(['queue', '--deployment', 'live']);
    const first = await json(['queue', '--deployment', 'live@1', '--input', 'n=1']);
    expect(await read(`/run/${Reflect.get(first, 'run_id')}`)).toMatchObject({
      workflow_id: workflow.id,
      workflow_version_id: expect.not.stringContaining(second.id),
    });
    expect(await json(['cancel', String(Reflect.get(first, 'run_id')).slice(0, 9)])).toMatchObject(first);
    expect(await read(`/run/${Reflect.get(run, 'run_id')}`)).toMatchObject({ workflow_id: workflow.id });
    for (const filter of [
      ['--deployment', 'live'],
      ['--workflow', 'por@trait'],
    ]) {
      const { stdout } = await cli(['runs', 'list', '--json', '--status', 'queued', ...filter]);
      expect(JSON.parse(stdout)).toMatchObject({ id: Reflect.get(run, 'run_id') });
    }
    const list = await cli(['deployments', 'list', '--workflow', 'por@trait']);
    expect(list.stdout).toContain(made.id);
    expect((await cli(['workflows', 'version', 'show', 'por@trait', '1', '--workflow'])).stdout).toBe(
      '{\n  "a": 1\n}\n',
    );
    const update = ['deployments', 'update', 'live', '--version', 'por@trait@1', '--name', 'old'];
    expect(await json(update)).toMatchObject({ id: made.id, name: 'old' });
  });

  it('of archived records too, when no other has the name', async () => {
    const { id } = await json(['machines', 'create', '--name', 'attic', ...MACHINE]);
    expect((await cli(['machines', 'archive', 'attic'])).stdout).toBe(
      `Machine attic is archived. Restore it with: runledger machines restore ${id}\n`,
    );
    expect((await cli(['machines', 'restore', 'attic'])).stdout).toBe('Machine attic is restored.\n');
    await cli(['machines', 'archive', 'attic']);
    const other = await json(['machines', 'create', '--name', 'attic', ...MACHINE]);
    expect(await json(['machines', 'show', 'attic'])).toMatchObject({ id: other.id, archived: false });
  });

  it('but a name that several have is refused', async () => {
    const first = await json(['machines', 'create', '--name', 'twin', ...MACHINE]);
    const second = await json(['machines', 'create', '--name', 'twin', ...MACHINE]);
    const refused = await cli(['machines', 'show', 'twin']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    const [sentence, ...candidates] = refused.stderr.trimEnd().split('\n');
    expect(sentence).toBe('More than one machine has the name twin. Use an id:');
    expect(candidates).toEqual([
      expect.stringMatching(new RegExp(`^  ${second.id}  created \\S+Z$`)),
      expect.stringMatching(new RegExp(`^  ${first.id}  created \\S+Z$`)),
    ]);
  });

  it.each([
    [['machines', 'show', 'nobody'], 'No machine has the name or the id nobody.'],
    [['queue', '--deployment', 'nobody'], 'List them with: runledger deployments list'],
    [['queue', '--deployment', 'nobody@1'], 'Check the name or the id.'],
    [
      ['schedules', 'create', '--name', 'n', '--cron', '@daily', '--deployment', 'nobody'],
      'body.deployment: The organisation has no deployment with this name',
    ],
    [['workflows', 'versions', 'nobody'], 'No workflow has the name or the id nobody.'],
    [['deployments', 'list', '--workflow', 'nobody'], 'No workflow has the name'],
    [['runs', 'list', '--deployment', 'nobody'], 'No deployment has the name'],
    [
      ['deployments', 'update', 'nobody', '--version', 'three'],
      '--version three is neither the id of a version nor a workflow with a number',
    ],
    [['keys', 'revoke', 'nobody'], 'No key has the name or the id nobody.'],
  ])('and %j says so', async (args, sentence) => {
    expect(await cli(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  it('of a key that is revoked, or whose actions are listed', async () => {
    const key = ['keys', 'create', '--name', 'laptop', '--scope', 'runs:read'];
    await json(key);
    expect(await cli(['audit', 'list', '--key', 'laptop'])).toMatchObject({
      code: 0,
      stderr: 'No audit record matches.\n',
    });
    const other = await json(key);
    const refused = await cli(['keys', 'revoke', 'laptop']);
    expect(refused.stderr).toMatch(
      new RegExp(`^More than one key has the name laptop. Use an id:\n  ${other.id}  created `),
    );
    await cli(['keys', 'revoke', other.id]);
    expect((await cli(['keys', 'revoke', 'laptop'])).stdout).toMatch(/^The key laptop is revoked\./);
  });
});
