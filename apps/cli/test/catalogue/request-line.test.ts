import { execFileSync } from 'node:child_process';
import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { queueLine, requestLine } from '../../src/catalogue/request-line.ts';

const URL = 'http://127.0.0.1:8080/api';

/** What a shell gives a program as arguments for this line. */
const argumentsOf = (line: string): string[] =>
  execFileSync('sh', ['-c', line.replace(/^curl/, `printf '%s\\0'`)], {
    encoding: 'utf8',
    env: { RUNLEDGER_API_KEY: 'rl_key' },
  }).split('\0');

const bodyOf = (inputs: readonly NewInputDefinition[]): unknown => {
  const words = argumentsOf(requestLine(URL, 'd1', inputs));
  return JSON.parse(words[words.indexOf('-d') + 1] ?? '');
};

describe('the line that queues a run', () => {
  it('names the URL, and takes the key from the environment', () => {
    expect(argumentsOf(requestLine(URL, 'd1', []))).toEqual([
      '-s',
      `${URL}/run/deployment/queue`,
      '-H',
      'Authorization: Bearer rl_key',
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"deployment":"d1","inputs":{}}',
      '',
    ]);
  });

  it('has an example of each input that a run needs', () => {
    const needed = { required: true } as const;
    expect(
      bodyOf([
        { name: 'prompt', type: 'string', ...needed },
        { name: 'style', type: 'string', enum: ['oil', 'ink'], ...needed },
        { name: 'steps', type: 'integer', minimum: 4, ...needed },
        { name: 'photo', type: 'image', ...needed },
        { name: 'frames', type: 'image[]', ...needed },
        { name: 'seed', type: 'integer' },
        { name: 'size', type: 'integer', default: 512, ...needed },
      ]),
    ).toEqual({
      deployment: 'd1',
      inputs: {
        prompt: 'TEXT',
        style: 'oil',
        steps: 4,
        photo: 'https://example.com/FILE',
        frames: ['https://example.com/FILE'],
      },
    });
  });

  it('keeps every name and value as it is in a shell', () => {
    const text = fc
      .string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
      .filter((one) => !/\0|__proto__/.test(one));
    fc.assert(
      fc.property(text, text, (name, value) => {
        const body = bodyOf([{ name, type: 'string', required: true, enum: [value] }]);
        expect(body).toEqual({ deployment: 'd1', inputs: { [name]: value } });
      }),
      { numRuns: casesOf(8) },
    );
  });
});

describe('the command that queues a run', () => {
  const argumentsOfCommand = (inputs: readonly NewInputDefinition[]): string[] =>
    argumentsOf(queueLine("Anna's", inputs).replace(/^runledger/, 'curl'));

  it('names the deployment, and has an example of each input that a run needs', () => {
    expect(
      argumentsOfCommand([
        { name: 'prompt', type: 'string', required: true },
        { name: 'steps', type: 'integer', minimum: 4, required: true },
        { name: 'photo', type: 'image', required: true },
        { name: 'frames', type: 'image[]', required: true },
        { name: 'seed', type: 'integer' },
      ]).slice(0, -1),
    ).toEqual([
      'queue',
      '--watch',
      '--deployment',
      "Anna's",
      '--input',
      'prompt=TEXT',
      '--input',
      'steps=4',
      '--input',
      'photo=@FILE',
      '--input',
      'frames[]=@FILE',
    ]);
  });
});
