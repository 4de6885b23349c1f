import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { hasColours } from '../../src/command/screen.ts';
import { aGateway, aRun } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const TERMINAL = { columns: 80 };
const threeMinutesAgo = (): string => new Date(Date.now() - 200_000).toISOString();
const aPage = (run: object) => ({ status: 200, body: { runs: [aRun(run).body], next_cursor: null } });

describe('at a terminal', () => {
  it('a list has relative times and coloured statuses, in columns as wide as without', async () => {
    const gateway = await aGateway(aPage({ status: 'failed', created_at: threeMinutesAgo() }));
    const { stdout } = await runCli(['runs', 'list'], { ...at(gateway.url), terminal: TERMINAL });
    expect(stdout).toContain('\u001B[31mfailed\u001B[39m');
    const [head = '', line = ''] = stripVTControlCharacters(stdout).split('\n');
    expect(line).toContain('  3 minutes ago   failed ');
    expect(line.indexOf('failed')).toBe(head.indexOf('STATUS'));
  });

  it('a record has the time itself too', async () => {
    const created_at = threeMinutesAgo();
    const gateway = await aGateway(aRun({ created_at }));
    const { stdout } = await runCli(['get', 'x'], { ...at(gateway.url), terminal: TERMINAL });
    expect(stdout).toContain(`queued  3 minutes ago (${created_at})\n`);
    expect(stdout).toContain('status  \u001B[36mrunning 50 % (row 1/2)\u001B[39m\n');
  });

  it('a created record is shown whole', async () => {
    const id = '01920000-0000-7000-8000-00000000000c';
    const body = { id, org_id: id, name: 'mine', archived: false, created_at: threeMinutesAgo() };
    const gateway = await aGateway({ status: 201, body });
    const create = ['workflows', 'create', '--name', 'mine'];
    const shown = await runCli(create, { ...at(gateway.url), terminal: TERMINAL });
    expect(shown.stdout).toMatch(new RegExp(`^id +${id}\nname +mine\ncreated +3 minutes ago \\(`));
    expect((await runCli(create, at(gateway.url))).stdout).toBe(`${id}\n`);
  });
});

describe('without a terminal, or with --json', () => {
  it('times are as they are, and nothing has a colour', async () => {
    const gateway = await aGateway(aPage({ status: 'failed' }));
    const { stdout } = await runCli(['runs', 'list'], at(gateway.url));
    expect(stdout).toContain('  2026-05-01T12:00:00.000Z  failed ');
    const json = await runCli(['runs', 'list', '--json'], { ...at(gateway.url), terminal: TERMINAL });
    expect(JSON.parse(json.stdout)).toMatchObject({ created_at: '2026-05-01T12:00:00.000Z' });
  });
});

describe('colours', () => {
  const terminal = { isTTY: true, hasColors: (env: object) => !('TERM' in env) };

  it.each([
    [terminal, {}, true],
    [terminal, { TERM: 'dumb' }, false],
    [terminal, { NO_COLOR: '1' }, false],
    [terminal, { NO_COLOR: '' }, true],
    [terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }, true],
    [terminal, { FORCE_COLOR: '0' }, false],
    [{}, {}, false],
    [{}, { FORCE_COLOR: '1' }, true],
  ])('of %j with %j: %j', (output, env, wanted) => {
    expect(hasColours(output, env)).toBe(wanted);
  });
});
