import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { aCatalogue } from '../fixtures/real-catalogue.ts';
import { cliAt } from '../fixtures/run-cli.ts';

const { cli, read, json, aMachine, aWorkflow, publish } = aCatalogue();

describe('runledger workflows version', () => {
  const VERSION = ['workflows', 'version'];
  const published = async (...kinds: string[]): Promise<{ workflow: string; ids: string[] }> => {
    const workflow = await aWorkflow();
    const ids: string[] = [];
    for (const kind of kinds) {
      const stdin = JSON.stringify({ kind, 2: ['b', 1], 1: null });
      ids.push((await json(publish(workflow, '--file', '-'), { stdin })).id);
    }
    return { workflow: workflow.id, ids };
  };

  it('shows a version by its number or its id', async () => {
    const { workflow, ids } = await published('first', 'second');
    const show = [...VERSION, 'show', workflow];
    const { stdout } = await cli([...show, '1']);
    expect(stdout).toMatch(
      new RegExp(`^id +${ids[0]}\\nworkflow +${workflow}\\nnumber +1\\nsha256 +\\w{64}\\ncreated +\\S+Z\\n$`),
    );
    expect((await cli([...show, ids[0] ?? ''])).stdout).toBe(stdout);
    expect(await json([...show, '2'])).toMatchObject({
      id: ids[1],
      number: 2,
      workflow: { kind: 'second' },
    });
  });

  it('prints only the workflow, which can be published again', async () => {
    const { workflow, ids } = await published('portrait');
    const show = [...VERSION, 'show', workflow, '1'];
    const alone = await cli([...show, '--workflow']);
    expect(alone).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\{\n {2}"1": null,/),
      stderr: '',
    });
    expect((await cli([...show, '--workflow', '--json'])).stdout).toBe(
      '{"1":null,"2":["b",1],"kind":"portrait"}\n',
    );
    const again = await json(publish({ id: workflow }, '--file', '-'), { stdin: alone.stdout });
    const { sha256 } = await read(`/workflows/${workflow}/versions/${ids[0]}`);
    expect(again).toMatchObject({ number: 2, sha256 });
  });

  it('archives a version, still finds it by its number, and restores it', async () => {
    const { workflow, ids } = await published('first', 'second');
    expect(await cli([...VERSION, 'archive', workflow, '1'])).toMatchObject({
      stdout: `Version 1 is archived. Restore it with: runledger workflows version restore ${workflow} 1\n`,
    });
    const { stdout } = await cli(['workflows', 'versions', workflow]);
    expect(stdout).not.toContain(ids[0]);
    expect((await cli([...VERSION, 'show', workflow, '1'])).stdout).toMatch(/^archived +yes$/m);
    expect((await cli([...VERSION, 'restore', workflow, '1'])).stdout).toBe('Version 1 is restored.\n');
    expect(await json([...VERSION, 'archive', workflow, ids[0] ?? ''])).toMatchObject({
      archived: true,
    });
  });

  it('keeps a version that a deployment uses', async () => {
    const { workflow, ids } = await published('used');
    const { id: machine } = await aMachine();
    const what = ['--name', 'live', '--version', ids[0] ?? '', '--machine', machine];
    await json(['deployments', 'create', ...what]);
    expect(await cli([...VERSION, 'archive', workflow, '1'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^The present state does not allow this: .*live/),
    });
  });

  it.each([
    ['2', 'The workflow has no version 2. List them with: runledger workflows versions '],
    ['0', '0 is neither the number nor the id of a version.'],
    ['v1', 'v1 is neither the number nor the id of a version.'],
    ['01920000-0000-7000-8000-00000000000a', 'Workflow version not found'],
  ])('refuses the unknown version %s', async (version, sentence) => {
    const { workflow } = await published('only');
    expect(await cli([...VERSION, 'show', workflow, version])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('the number of a workflow version', () => {
  const version = (number: number) => ({
    id: `01920000-0000-7000-8000-${String(number).padStart(12, '0')}`,
    org_id: RUN,
    workflow_id: RUN,
    number,
    sha256: 'a'.repeat(64),
    bytes: 2,
    inputs: [],
    code: null,
    message: null,
    commit: null,
    created_by: null,
    archived: true,
    created_at: '2026-05-01T12:00:00.000Z',
  });
  const page = (numbers: number[], next_cursor: string | null) => ({
    status: 200,
    body: { versions: numbers.map(version), next_cursor },
  });

  it('is searched page after page up to its position, and then among the archived versions', async () => {
    const fake = await aGateway(
      page([9, 8], 'behind 8'),
      page([5, 4], 'behind 4'),
      page([], 'behind 7'),
      page([7, 6], 'behind 6'),
      { status: 200, body: { ...version(6), workflow: { kind: 'sixth' } } },
    );
    const show = ['workflows', 'version', 'show', RUN, '6', '--workflow', '--json'];
    expect(await cliAt(fake.url, 'rl_key')(show)).toMatchObject({ stdout: '{"kind":"sixth"}\n' });
    const list = `/api/workflows/${RUN}/versions?`;
    expect(fake.requests.map(({ path }) => path)).toEqual([
      `${list}archived=false&limit=100`,
      `${list}archived=false&limit=100&cursor=behind%208`,
      `${list}archived=true&limit=100`,
      `${list}archived=true&limit=100&cursor=behind%207`,
      `/api/workflows/${RUN}/versions/${version(6).id}`,
    ]);
  });
});
