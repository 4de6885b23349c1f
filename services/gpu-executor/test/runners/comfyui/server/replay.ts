import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { readHistory } from '../../../../src/runners/comfyui/prompt-state.decide.ts';
import { readServerMessage } from '../../../../src/runners/comfyui/server-message.decide.ts';
import { readOutputs } from '../../../../src/runners/comfyui/outputs.decide.ts';
import type { RecordedPrompt } from '../recordings/recorded-prompts.ts';
import { outputKey, startTestServer, type TestServer } from './test-server.ts';

/**
 * A server that says about its prompt what a real one said about this one, and knows of it afterwards what that one knew. The content of
 * its files is their name.
 */
export const startReplay = async (recorded: RecordedPrompt): Promise<TestServer> => {
  const server = await startTestServer({
    execute: ({ prompt_id }, { tell, history }) => {
      const renamed = (text: string): string => text.replaceAll(recorded.prompt_id, prompt_id);
      for (const message of recorded.messages)
        // Both ids have 36 characters, so a binary message stays one.
        tell(
          typeof message === 'string' ? renamed(message) : Buffer.from(renamed(latin1(message)), 'latin1'),
        );
      const entry = entryOf(recorded);
      if (entry !== undefined) history.set(prompt_id, renamed(entry));
    },
  });
  server.faults.nodeErrors = nodeErrorsOf(recorded);
  for (const file of outputsOf(recorded)
    .flatMap(readOutputs)
    .flatMap(({ files }) => files))
    server.outputs.set(outputKey(file), Buffer.from(file.filename));
  return server;
};

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const entryOf = ({ histories, prompt_id }: RecordedPrompt): string | undefined =>
  histories.findLast((text) => readHistory(text, prompt_id).kind === 'ended');

/** Of nodes that the server left out of the prompt. */
export const nodeErrorsOf = ({ accepted }: RecordedPrompt): object => {
  const answer = parseJson(accepted);
  return isJsonObject(answer) && isJsonObject(answer['node_errors']) ? answer['node_errors'] : {};
};

const outputsOf = (recorded: RecordedPrompt): Record<string, unknown>[] => {
  const history = readHistory(entryOf(recorded) ?? '', recorded.prompt_id);
  const heard = recorded.messages
    .map(readServerMessage)
    .flatMap((message) => (message.kind === 'executed' ? [{ [message.node]: message.output }] : []));
  return history.kind === 'ended' ? [history.outputs, ...heard] : heard;
};
