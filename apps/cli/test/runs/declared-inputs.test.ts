import { describe, expect, it } from 'vitest';
import { aCatalogue } from '../fixtures/real-catalogue.ts';

const { cli, json, read, aTypedDeployment } = aCatalogue();

describe('the inputs of a run', () => {
  it('have the types that the version declares', async () => {
    await aTypedDeployment('novel');
    const inputsOf = async (run: object): Promise<unknown> =>
      (await read(`/run/${Reflect.get(run, 'run_id')}?include=inputs`)).workflow_inputs;
    const queue = (...pairs: string[]) =>
      json(['queue', '--deployment', 'novel', ...pairs.flatMap((pair) => ['--input', pair])]);
    const first = await queue('prompt=1984', 'steps=20');
    expect(await inputsOf(first)).toEqual({ prompt: '1984', steps: 20 });
    for (const [given, text] of [
      ['true', 'true'],
      ['[a]', '[a]'],
      ['["a"]', '["a"]'],
      ['@alice', '@alice'],
      ['"quoted"', 'quoted'],
      ['1e3', '1e3'],
    ])
      expect(await inputsOf(await queue(`prompt=${given}`))).toEqual({ prompt: text });
    const pinned = ['queue', '--deployment', 'novel@1', '--input', 'prompt=1984'];
    expect(await inputsOf(await json(pinned))).toEqual({ prompt: '1984' });
    const run = Reflect.get(first, 'run_id');
    const again = await json(['rerun', run, '--input', 'prompt=2001']);
    expect(await inputsOf(again)).toEqual({ prompt: '2001', steps: 20 });
  });

  it('are refused or told when the version does not declare them', async () => {
    await aTypedDeployment('strict');
    const queue = (...options: string[]) =>
      cli(['queue', '--deployment', 'strict', '--input', 'prompt=a', '--input', 'stebs=3', ...options]);
    expect(await queue()).toMatchObject({
      code: 0,
      stderr: 'Warning: unknown input "stebs" is passed to the workflow; did you mean "steps"?\n',
    });
    expect(await queue('--strict-inputs')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('body.inputs.stebs: This is unknown here: leave it out; did you mean'),
    });
    await cli(['deployments', 'update', 'strict', '--strict-inputs']);
    expect(await queue()).toMatchObject({ code: 2 });
    await cli(['deployments', 'update', 'strict', '--no-strict-inputs']);
    expect(await queue()).toMatchObject({ code: 0 });
  });
});
