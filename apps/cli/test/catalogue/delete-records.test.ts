import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { aCatalogue } from '../fixtures/real-catalogue.ts';
import { cliAt } from '../fixtures/run-cli.ts';

const { cli, aMachine, aWorkflow } = aCatalogue();
const ID = newUuid();
const VERSION = newUuid();

const COMMANDS = [
  ['Machine', ['machines', 'delete', ID], `/machines/${ID}`],
  ['Workflow', ['workflows', 'delete', ID], `/workflows/${ID}`],
  ['Deployment', ['deployments', 'delete', ID], `/deployments/${ID}`],
  ['Version', ['workflows', 'version', 'delete', ID, VERSION], `/workflows/${ID}/versions/${VERSION}`],
] as const;

/** A gateway that gives this answer to everything. */
const answering = async (status: number, body?: unknown) => {
  const gateway = await aGateway({ status, body });
  return { gateway, run: cliAt(gateway.url, 'rl_key') };
};

describe.each(COMMANDS)('deleting: %s', (what, args, path) => {
  const id = args.at(-1) ?? '';

  it('is one request, and says what is deleted', async () => {
    const { gateway, run } = await answering(204);
    expect(await run(args)).toEqual({ code: 0, stdout: `${what} ${id} is deleted.\n`, stderr: '' });
    expect(gateway.requests).toMatchObject([{ method: 'DELETE', path: `/api${path}`, body: null }]);
  });

  it('prints one JSON value', async () => {
    const { run } = await answering(204);
    const { code, stdout } = await run([...args, '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { id, deleted: true }]);
  });

  it('says why it is refused, and prints nothing else', async () => {
    const { run } = await answering(409, { detail: 'The deployment "studio" uses it' });
    expect(await run(args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('The deployment "studio" uses it'),
    });
  });
});

describe('deleting at a real gateway', () => {
  it('needs a record that was archived a minute ago, and says how long to wait', async () => {
    const { id } = await aMachine();
    expect((await cli(['machines', 'delete', id])).stderr).toContain('archive it first');
    await cli(['machines', 'archive', id]);
    expect((await cli(['machines', 'delete', id])).stderr).toMatch(
      /less than a minute ago.* try again in \d+ s/,
    );
  });

  it('of a version takes its number, and says when there is none', async () => {
    const { id } = await aWorkflow();
    const result = await cli(['workflows', 'version', 'delete', id, '3']);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('has no version 3')]);
  });

  it('of a record that is not there says so', async () => {
    const result = await cli(['deployments', 'delete', ID]);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('Deployment not found')]);
  });
});
