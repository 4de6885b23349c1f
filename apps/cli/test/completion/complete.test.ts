import { describe, expect, it } from 'vitest';
import { aCatalogue } from '../fixtures/real-catalogue.ts';
import { runCli } from '../fixtures/run-cli.ts';

const { cli, json } = aCatalogue();

type Line = readonly [word: string, note?: string];

const linesOf = (stdout: string): Line[] => {
  const [kind = '', ...lines] = stdout.trimEnd().split('\n');
  return kind === 'files' ? [['(files)']] : lines.map((line) => line.split('\t') as [string, string]);
};
/** Without a server. */
const wordsAfter = async (...words: string[]): Promise<string[]> =>
  linesOf((await runCli(['complete', '--', ...words])).stdout).map(([word]) => word);

describe('completion, without a server', () => {
  it.each([
    [['ru'], ['run', 'runs']],
    [
      ['runs', ''],
      ['list', 'cancel', 'rerun', 'help'],
    ],
    [['runs', 'list', '--wa'], ['--watch']],
    [['runs', 'list', '--status', 'f'], ['failed']],
    [['runs', 'list', '--status', 'failed,ti'], ['failed,timeout']],
    [['runs', 'list', '--status=f'], ['--status=failed']],
    [
      ['--context', 'prod', 'wh'],
      ['why', 'whoami'],
    ],
    [['queue', '--inputs', ''], ['(files)']],
    [['deploy', 'flow'], ['(files)']],
    [['webhook-secret', 'rotate', '--j'], ['--json']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['queue', '--priority', ''], []],
    [['context', 'use', 'l'], ['local']],
    [['--v'], ['--version']],
    [['nonsense', ''], []],
  ])('of %j is %j', async (words, wanted) => {
    expect(await wordsAfter(...words)).toEqual(wanted);
  });

  it('names every command that is not hidden, and says what it does', async () => {
    const lines = linesOf((await runCli(['complete', '--', ''])).stdout);
    expect(lines).toContainEqual(['whoami', 'show the server, and whose the API key is']);
    expect(lines.map(([word]) => word)).not.toContain('complete');
  });

  it('is empty and quick when no server answers', async () => {
    const env = { RUNLEDGER_URL: 'http://127.0.0.1:9/api', RUNLEDGER_API_KEY: 'rl_x' };
    expect(await runCli(['complete', '--', 'machines', 'show', ''], { env })).toMatchObject({
      code: 2,
      stdout: 'words\n',
    });
  });
});

describe('completion of records', () => {
  it('has names where one alone has them, and ids otherwise', async () => {
    const machine = ['--gpu', 'L4', '--program', 'render-image'];
    const create = (name: string) => json(['machines', 'create', '--name', name, ...machine]);
    const [alone, one, two] = [await create('studio one'), await create('twin'), await create('twin')];
    const after = async (...words: string[]) => linesOf((await cli(['complete', '--', ...words])).stdout);
    expect(await after('machines', 'show', 'stu')).toEqual([['studio one', 'created now']]);
    expect(await after('deployments', 'create', '--machine=stu')).toEqual([
      ['--machine=studio one', 'created now'],
    ]);
    const all = await after('machines', 'archive', '');
    expect(all).toContainEqual([one.id, 'twin, created now']);
    expect(all).toContainEqual([two.id, 'twin, created now']);
    expect(all.map(([word]) => word)).not.toContain(alone.id);
    expect((await after('machines', 'show', alone.id.slice(0, 13))).map(([word]) => word)).toContain(
      alone.id,
    );

    const workflow = await json(['workflows', 'create', '--name', 'portrait']);
    await json(['workflows', 'publish', workflow.id, '--file', '-'], { stdin: '{}' });
    expect(await after('workflows', 'version', 'show', 'portrait', '')).toEqual([['1', 'created now']]);
    const key = await json(['keys', 'create', '--name', 'laptop']);
    expect(key.id).toBeDefined();
    expect(await after('keys', 'revoke', 'lap')).toEqual([['laptop', 'runs:write']]);
    await cli(['secrets', 'set', 'HF_TOKEN'], { stdin: 'x' });
    expect(await after('secrets', 'remove', 'HF')).toEqual([['HF_TOKEN', 'set now']]);
  });

  it('has the ids of the newest runs', async () => {
    const { stdout: sample } = await cli(['deployments', 'list', '--json']);
    const { id } = JSON.parse(sample.split('\n')[0] ?? '');
    const { stdout: run } = await cli(['queue', '--deployment', id]);
    const { stdout } = await cli(['complete', '--', 'get', '']);
    expect(linesOf(stdout)).toEqual([[run.trim(), 'queued, now']]);
  });
});
