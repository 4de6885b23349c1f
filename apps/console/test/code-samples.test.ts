import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeSamples } from '../src/run/code-samples.ts';

const API = 'https://runs.example.com/api';

describe('a run as code', () => {
  it('is one request of curl, whatever is in the inputs', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string(),
          fc.string().filter((text) => !text.includes('\0')),
        ),
        (inputs) => {
          const run = { deployment_id: 'deployment-1', inputs };
          const stub = 'curl() { for word in "$@"; do printf "%s\\000" "$word"; done; }';
          const words = execFileSync('sh', ['-c', `${stub}\n${codeSamples(run, API).curl}`], {
            env: { RUNLEDGER_API_KEY: 'the-key' },
            encoding: 'utf8',
          }).split('\0');
          expect(words.slice(0, 5)).toEqual([
            `${API}/run/deployment/queue`,
            '--header',
            'Authorization: Bearer the-key',
            '--header',
            'Content-Type: application/json',
          ]);
          expect(JSON.parse(String(words[6]))).toEqual(run);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('has the inputs in TypeScript and Python, too, and no key', () => {
    const { TypeScript, Python } = codeSamples(
      { deployment_id: 'deployment-1', inputs: { text: `"'` } },
      API,
    );
    expect(TypeScript).toMatch(/^import \{ Runledger \} from '@runledger\/client';\n/);
    expect(TypeScript).toContain(String.raw`"text": "\"'"`);
    expect(Python).toContain('runledger import Runledger');
    expect(TypeScript + Python).not.toContain('Bearer');
  });
});
