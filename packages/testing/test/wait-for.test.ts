import { describe, expect, it } from 'vitest';
import { waitFor } from '../src/wait-for.ts';

describe('waiting for a fact', () => {
  it('returns the first truthy answer', async () => {
    const answers = [undefined, 0, '', 'here'];
    expect(await waitFor('an answer', () => answers.shift())).toBe('here');
  });

  it('repeats a call that throws', async () => {
    const tries: string[] = [];
    const fact = async (): Promise<string> => {
      tries.push('asked');
      if (tries.length < 3) throw new Error('not yet');
      return 'here';
    };
    expect(await waitFor('an answer', fact)).toBe('here');
    expect(tries).toHaveLength(3);
  });

  it('fails with the description and the last answer', async () => {
    const seen = waitFor('three views', () => (['one', 'two'].length === 3 ? 'all' : null), { withinMs: 60 });
    await expect(seen).rejects.toThrow('Waited 60 ms in vain for three views. Last seen: null');
  });

  it('fails with the last error if every call throws', async () => {
    const refused = (): never => {
      throw new Error('connection refused');
    };
    await expect(waitFor('a connection', refused, { withinMs: 60 })).rejects.toThrow('connection refused');
  });

  it('fails at the time limit if no answer comes', async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    await expect(waitFor('an answer', never, { withinMs: 60 })).rejects.toThrow(
      'the first answer never came',
    );
  });
});
