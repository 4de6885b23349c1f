import { someOf } from '@runledger/testing/random/cases';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectedEnds } from './recorded-ends.ts';
import { recordedCases, VERSIONS } from './recordings/recorded-cases.ts';
import { recordedPrompts, type RecordedPrompt } from './recordings/recorded-prompts.ts';
import { openComfyui } from './run-comfyui.ts';
import { nodeErrorsOf, startReplay } from './server/replay.ts';

/** What a run becomes whose prompt ended like that. Nobody cancelled these runs: an interrupt came from somebody else. */
const resultOf = (end: string): object => {
  const [how = '', node] = end.split(/ at |: |, /);
  switch (how) {
    case 'succeeded':
      return { outcome: 'succeeded' };
    case 'failed':
      return { outcome: 'failed', error: { node, message: expect.stringContaining(`Node ${node}`) } };
    case 'interrupted':
      return { outcome: 'failed', error: { kind: 'execution_error' } };
    default:
      return { outcome: 'failed', error: { kind: 'crashed' } };
  }
};

const isPartlyRefused = (prompt: RecordedPrompt): boolean => Object.keys(nodeErrorsOf(prompt)).length > 0;

const REFUSED = { outcome: 'failed', error: { kind: 'invalid_inputs' } };

const cases = (version: (typeof VERSIONS)[number]): { name: string; prompt: RecordedPrompt; end: string }[] =>
  recordedCases(version).flatMap((recorded) => {
    const prompts = recordedPrompts(recorded);
    const ends = expectedEnds(recorded, prompts.length);
    return prompts
      .map((prompt, index) => ({ name: `${recorded.name} ${index}`, prompt, end: ends[index] ?? '' }))
      .filter(({ prompt: { prompt_id } }) => UUID.test(prompt_id));
  });

/** Of its kind of end. `core/` holds all recordings to their ends without servers. */
const isFirst = (all: ReturnType<typeof cases>, name: string, end: string): boolean => {
  const kind = (one: string): string | undefined => one.split(/ at |: |, /)[0];
  return all.find((one) => kind(one.end) === kind(end))?.name === name;
};

/** A runner sends no other ids. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe.each(VERSIONS)('a replay of what %s said, over HTTP and websockets', (version) => {
  it('ends each run as its prompt ended', async () => {
    const recorded = cases(version);
    expect(recorded.length).toBeGreaterThan(90);
    const all = someOf(recorded, ({ name, end }, at) => at % 4 === 0 || isFirst(recorded, name, end));
    const servers = await Promise.all(all.map(({ prompt }) => startReplay(prompt)));
    onTestFinished(
      async () => void (await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))),
    );
    const comfyui = await openComfyui({ servers: servers.map(({ url }) => ({ url })) });
    const results = await Promise.all(
      all.map(({ prompt }, slot) => comfyui.start(prompt.workflow, { slot }).result),
    );
    const named = (of: (index: number) => object): object =>
      Object.fromEntries(all.map(({ name }, index) => [name, of(index)]));
    expect(named((index) => results[index] ?? {})).toMatchObject(
      // The server would leave the refused nodes out, and call that a success.
      named((index) => {
        const { prompt, end } = all[index] ?? {};
        return prompt && isPartlyRefused(prompt) ? REFUSED : resultOf(end ?? '');
      }),
    );
  });

  it('fetches each file that its history names', async () => {
    const prompt = recordedCases(version)
      .filter(({ name }) => name === 'b2-several-images')
      .flatMap(recordedPrompts)[0];
    if (!prompt) throw new Error('the case is not there');
    await using server = await startReplay(prompt);
    const comfyui = await openComfyui({ servers: [{ url: server.url }] });
    const result = await comfyui.start(prompt.workflow).result;
    const names =
      result.outcome === 'succeeded' ? result.files.map((file) => join(file.subfolder, file.filename)) : [];
    expect(names.map((name) => name.replace(/ComfyUI_temp_\w+/, 'preview'))).toEqual([
      'blended_00001_.png',
      'inverted/deep_00001_.png',
      'plain_00001_.png',
      'temp/preview.png',
    ]);
  });
});
