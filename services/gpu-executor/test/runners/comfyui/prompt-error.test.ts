import { describe, expect, it } from 'vitest';
import { nodeError, refusedNodes, refusedPrompt } from '../../../src/runners/comfyui/prompt-error.decide.ts';
import { readServerMessage } from '../../../src/runners/comfyui/server-message.decide.ts';
import { readWorkflow, type ComfyWorkflow } from '../../../src/runners/comfyui/workflow.decide.ts';
import { recordedCases, recordedMessage, recordedText, VERSIONS } from './recordings/recorded-cases.ts';
import { recordedExchanges } from './recordings/recorded-prompts.ts';

const workflow: ComfyWorkflow = {
  '3': { class_type: 'KSampler', inputs: {}, _meta: { title: 'Face' } },
  '4': { class_type: 'SaveImage', inputs: {}, _meta: { title: 'SaveImage' } },
};

describe('the error of a node', () => {
  it('names the node, its title and the exception', () => {
    const failure = {
      node: '3',
      class_type: 'KSampler',
      exception: 'builtins.ValueError',
      message: 'size is too large\n',
    };
    expect(nodeError(workflow, failure)).toEqual({
      kind: 'execution_error',
      message: 'Node 3 "Face" (KSampler) failed: ValueError: size is too large',
      node: '3',
      retryable: true,
    });
  });

  it('names the node of the workflow when a node inside of it failed', () => {
    const failure = { node: '4.0.0.2', class_type: 'VAEDecode', exception: 'ValueError', message: 'no' };
    expect(nodeError(workflow, failure)).toMatchObject({ node: '4' });
  });

  it.each(VERSIONS)('is out_of_memory where torch says so, of %s', (version) => {
    const messages = recordedCases(version)
      .filter(({ name }) => name === 'e3-out-of-memory')
      .flatMap(({ lines }) => lines.flatMap((line) => recordedMessage(line) ?? []))
      .map(readServerMessage);
    const errors = messages.flatMap((message) =>
      message.kind === 'failed' ? [nodeError(workflow, message.failure)] : [],
    );
    expect(errors).toMatchObject([{ kind: 'out_of_memory', node: '3' }]);
  });

  it.each(VERSIONS)(
    'is at most as long as an event may have it, also when the exception is not, of %s',
    (version) => {
      const messages = recordedCases(version)
        .filter(({ name }) => name === 'e2-long-message')
        .flatMap(({ lines }) => lines.flatMap((line) => recordedMessage(line) ?? []))
        .map(readServerMessage);
      const failed = messages.find(({ kind }) => kind === 'failed');
      expect(failed?.kind === 'failed' && failed.failure.message.length).toBeGreaterThan(2_048);
      expect(
        failed?.kind === 'failed' && nodeError(workflow, failed.failure).message.length,
      ).toBeLessThanOrEqual(2_048);
    },
  );
});

describe('a refused prompt', () => {
  const refused = VERSIONS.flatMap((version) =>
    recordedCases(version)
      .filter(({ name }) => name === 'd-validation')
      .flatMap((recorded) => recordedExchanges(recorded))
      .filter(({ request, response }) => request.path === '/prompt' && response.status !== 200)
      .map(({ request, response }) => [version, request, response] as const),
  );

  it('has a reason in every recording', () => {
    expect(refused.length).toBeGreaterThan(30);
    for (const [, { body }, response] of refused) {
      const sent = readWorkflow((body as { prompt?: unknown } | undefined)?.prompt);
      const error = refusedPrompt(
        sent.kind === 'workflow' ? sent.workflow : {},
        response.status ?? 0,
        recordedText(response),
      );
      expect(error).toMatchObject({ kind: 'invalid_inputs', retryable: false });
      expect(error.message.length).toBeGreaterThan(50);
      expect(error.message).not.toContain('undefined');
    }
  });

  it('names each node, its input and what is wrong with it', () => {
    const body = JSON.stringify({
      error: { message: 'Prompt outputs failed validation', details: '' },
      node_errors: { '3': { errors: [{ message: 'Value 0 smaller than min of 1', details: 'width' }] } },
    });
    expect(refusedPrompt(workflow, 400, body)).toEqual({
      kind: 'invalid_inputs',
      message:
        'ComfyUI refuses the workflow with these inputs.\nNode 3 "Face" (KSampler): Value 0 smaller than min of 1 (width)',
      node: '3',
      retryable: false,
    });
  });

  it('is also one that the server accepts in part', () => {
    for (const version of VERSIONS) {
      const partly = recordedCases(version).find(({ name }) => name === 'd2-partly-valid');
      const answer = recordedExchanges(partly ?? { version, name: '', lines: [] })[0]?.response.body;
      const errors = (answer as { node_errors: unknown }).node_errors;
      expect(refusedNodes({}, errors)).toMatchObject({ node: '8', kind: 'invalid_inputs' });
    }
    expect(refusedNodes(workflow, {})).toBeUndefined();
  });
});
