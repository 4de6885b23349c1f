import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { cliWith, type Cli } from '../fixtures/run-cli.ts';

let gateway: RealGateway;
/** With the operator's credentials of the broker. */
let operator: Cli;
beforeAll(async () => {
  gateway = await aRealGateway();
  operator = cliWith(gateway.nats.env);
});
afterAll(() => gateway[Symbol.asyncDispose]());

const jsonLines = (text: string): { id: string; stage: string; action: string }[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const of = async (action: string) =>
  jsonLines((await gateway.cli(['audit', 'list', '--action', action, '--json'])).stdout);

describe('runledger audit', () => {
  it('lists each action once, with its outcome, and both records of it as JSON', async () => {
    await gateway.cli(['workflows', 'create', '--name', 'mine']);
    const { code, stdout } = await gateway.cli(['audit', 'list', '--action', 'workflow.created']);
    const rows = stdout.trimEnd().split('\n');
    expect(code).toBe(0);
    expect(rows[0]).toMatch(/^TIME +ACTION +OUTCOME +TARGET +BY +DETAILS$/);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatch(/ workflow\.created +done +[0-9a-f-]{36} +key [0-9a-f-]{36} /);
    const [completed, requested] = await of('workflow.created');
    expect([completed?.stage, requested?.stage]).toEqual(['completed', 'requested']);
    expect(completed?.id).toBe(requested?.id);
  });

  it('exports all records that match as JSON lines, and refuses an unknown action', async () => {
    const { code, stdout } = await gateway.cli(['audit', 'export', '--action', 'workflow.created']);
    expect([code, jsonLines(stdout)]).toEqual([0, await of('workflow.created')]);
    expect((await gateway.cli(['audit', 'export', '--since', '2999-01-01'])).stdout).toBe('');
    expect(await gateway.cli(['audit', 'list', '--action', 'any'])).toMatchObject({ code: 2 });
  });

  it.each([
    ['key.created', ['keys', 'create', '--operator', '--name', 'ops', '--organisation', 'Acme']],
    ['organisation.created', ['organisations', 'create', 'Other']],
    ['log.provisioned', ['provision']],
    ['dead_letter.redriven', ['dead-letters', 'redrive', '--all']],
  ])('has what is done with the credentials of the broker: %s', async (action, command) => {
    expect(await operator(command)).toMatchObject({ code: 0 });
    const records = await of(action);
    expect(records).toMatchObject([
      { stage: 'completed', outcome: 'done', actor: { kind: 'operator' } },
      { stage: 'requested', outcome: null },
    ]);
  });

  it('says since when the records of a kind are complete, once older ones have left', async () => {
    const list = () =>
      gateway.cli(['audit', 'list', '--organisation', gateway.org_id, '--action', 'workflow.created']);
    expect((await list()).stderr).not.toContain('Older records');
    // Eight records of a kind.
    const RUNLEDGER_LOG_SETTINGS = JSON.stringify({ auditMaxBytes: 16 * 3 * 1024 * 8 });
    const small = cliWith({ ...gateway.nats.env, RUNLEDGER_LOG_SETTINGS });
    expect(await small(['provision'])).toMatchObject({ code: 0 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await gateway.cli(['workflows', 'create', '--name', name]);
    const { stdout, stderr } = await list();
    expect(stderr).toMatch(/Older records may have left: those of the kind work are complete since 20\S+Z\./);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 4);
  });
});
