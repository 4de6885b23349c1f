import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  readHistory,
  evolvePrompt,
  newPrompt,
  type MessageEnd,
  type PromptState,
} from '../../../src/runners/comfyui/prompt-state.decide.ts';
import { readServerMessage, type ServerMessage } from '../../../src/runners/comfyui/server-message.decide.ts';
import { readOutputs } from '../../../src/runners/comfyui/outputs.decide.ts';
import { readWorkflow, type ComfyWorkflow } from '../../../src/runners/comfyui/workflow.decide.ts';
import { recordedCases, recordedMessage, VERSIONS } from './recordings/recorded-cases.ts';
import { recordedPrompts, type RecordedPrompt } from './recordings/recorded-prompts.ts';
import { expectedEnds, namedEnds } from './recorded-ends.ts';

const workflowOf = ({ workflow }: RecordedPrompt): ComfyWorkflow => {
  const read = readWorkflow(workflow);
  if (read.kind !== 'workflow') throw new Error(read.why);
  return read.workflow;
};

const statesOf = (prompt: RecordedPrompt, messages: readonly ServerMessage[]): PromptState[] => {
  const states = [newPrompt(prompt.prompt_id, workflowOf(prompt))];
  for (const message of messages) {
    const state = states.at(-1);
    if (state) states.push(evolvePrompt(state, message));
  }
  return states;
};

const lastOf = (prompt: RecordedPrompt, messages: readonly ServerMessage[]): PromptState =>
  messages.reduce(evolvePrompt, newPrompt(prompt.prompt_id, workflowOf(prompt)));

const describeEnd = (end: MessageEnd): string =>
  end.kind === 'failed' ? `failed at ${end.failure.node}: ${end.failure.exception}` : end.kind;

const endOf = (prompt: RecordedPrompt): string => {
  const heard = lastOf(prompt, prompt.messages.map(readServerMessage)).end;
  const history = prompt.histories
    .map((text) => readHistory(text, prompt.prompt_id))
    .find(({ kind }) => kind !== 'absent');
  if (history?.kind === 'unreadable') return 'unreadable history';
  const read = history?.kind === 'ended' ? history.end : undefined;
  if (heard && read && describeEnd(heard) !== describeEnd(read)) return 'two ends';
  if (heard) return describeEnd(heard);
  return read ? `${describeEnd(read)}, unheard` : 'no end';
};

const all = VERSIONS.flatMap((version) => recordedCases(version));
const allPrompts = all.flatMap((recorded) =>
  recordedPrompts(recorded).map((prompt) => ({ recorded, prompt })),
);

describe('every recording of a real server', () => {
  it('is there, of both versions', () => {
    expect(VERSIONS.map((version) => recordedCases(version).length)).toEqual([65, 65]);
    const names = new Set(all.flatMap(({ version, name }) => [name, `${version} ${name}`]));
    expect(namedEnds.filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(all.map((recorded) => [`${recorded.version} ${recorded.name}`, recorded] as const))(
    'ends as it did: %s',
    (_, recorded) => {
      const prompts = recordedPrompts(recorded);
      expect(prompts.map(endOf)).toEqual(expectedEnds(recorded, prompts.length));
    },
  );

  it('has messages that can be read, all of them', () => {
    const messages = all
      .flatMap(({ lines }) => lines.map(recordedMessage))
      .flatMap((message) => (message === undefined ? [] : [readServerMessage(message)]));
    expect(messages.filter(({ kind }) => kind === 'unreadable')).toEqual([]);
    expect(new Set(messages.flatMap((message) => (message.kind === 'other' ? [message.type] : [])))).toEqual(
      new Set(['status', 'feature_flags']),
    );
  });

  it('makes progress that never decreases, and is complete when the prompt succeeds', () => {
    for (const { prompt } of allPrompts) {
      const states = statesOf(prompt, prompt.messages.map(readServerMessage));
      const progress = states.map(({ report }) => report.progress);
      expect(progress).toEqual(progress.toSorted((a, b) => a - b));
      const least = states.at(-1)?.end?.kind === 'succeeded' ? 1 : 0;
      expect(progress.at(-1)).toBeGreaterThanOrEqual(least);
      expect(progress.at(-1)).toBeLessThanOrEqual(1);
    }
  });

  it('has the outputs of its history in its messages, too, where its client heard and read them', () => {
    for (const { prompt, recorded } of allPrompts) {
      const { end, isOver, outputs } = lastOf(prompt, prompt.messages.map(readServerMessage));
      const history = readHistory(prompt.histories.at(-1) ?? '', prompt.prompt_id);
      // The same id was sent twice: the history has the outputs of the second prompt.
      if (recorded.name === 'k1-prompt-id' || end === null || !isOver || history.kind !== 'ended') continue;
      expect(readOutputs(outputs)).toEqual(readOutputs(history.outputs));
    }
  });
});

describe('messages of a recording that are lost, late, or of others', () => {
  const anyPrompt = fc.constantFrom(...allPrompts.map(({ prompt }) => prompt));
  const otherMessages = fc.constantFrom(...allPrompts.map(({ prompt }) => prompt));

  it('may end a prompt only as it ended, whichever of them arrive', () => {
    fc.assert(
      fc.property(anyPrompt, fc.infiniteStream(fc.boolean()), (prompt, kept) => {
        const messages = prompt.messages.map(readServerMessage);
        const whole = lastOf(prompt, messages);
        const some = lastOf(
          prompt,
          messages.filter(() => kept.next().value),
        );
        expect([null, whole.end]).toContainEqual(some.end);
        expect(some.report.progress).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('change nothing when they are of other prompts', () => {
    fc.assert(
      fc.property(anyPrompt, otherMessages, fc.infiniteStream(fc.boolean()), (prompt, other, first) => {
        fc.pre(prompt.prompt_id !== other.prompt_id);
        const own = prompt.messages.map(readServerMessage);
        const foreign = other.messages
          .map(readServerMessage)
          .filter((message) => 'prompt_id' in message && message.prompt_id === other.prompt_id);
        const mixed: ServerMessage[] = [];
        while (own.length + foreign.length > 0) {
          const from = (first.next().value && own.length > 0) || foreign.length === 0 ? own : foreign;
          mixed.push(...from.splice(0, 1));
        }
        expect(lastOf(prompt, mixed)).toEqual(lastOf(prompt, prompt.messages.map(readServerMessage)));
      }),
    );
  });

  it('never throw when they are cut anywhere', () => {
    const anyMessage = anyPrompt
      .filter(({ messages }) => messages.length > 0)
      .chain(({ messages }) => fc.constantFrom(...messages));
    fc.assert(
      fc.property(anyMessage, fc.nat(), (message, at) => {
        const cut = message.slice(0, at % message.length);
        expect(readServerMessage(cut)).toHaveProperty('kind');
      }),
    );
  });
});
