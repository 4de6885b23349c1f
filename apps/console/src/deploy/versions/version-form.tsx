import { Form } from '../../ui/form.tsx';
import { parseJson } from '@runledger/contracts/json';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../../api/client.ts';

interface VersionFormProps {
  readonly workflowId: string;
  readonly onMade: () => void;
}

/** Takes a workflow as JSON, pasted or from a file, with its inputs. */
export const VersionForm = ({ workflowId: workflow_id, onMade }: VersionFormProps): ReactNode => {
  const [workflow, setWorkflow] = useState('');
  const [inputs, setInputs] = useState('[]');
  const create = useMutation({
    mutationFn: async (body: Parameters<typeof postVersion>[1]) => postVersion(workflow_id, body),
    onSuccess: onMade,
  });
  const read = { workflow: jsonIn(workflow), inputs: jsonIn(inputs) };
  const submit = (): void => {
    // The service checks what they are, and says what is wrong.
    if (read.workflow && read.inputs)
      create.mutate({ workflow: read.workflow.value, inputs: read.inputs.value } as never);
  };
  return (
    <Form
      button="Publish the version"
      sending={create}
      isComplete={read.workflow !== undefined && read.inputs !== undefined}
      onSubmit={submit}
    >
      <label className="field">
        Workflow, as JSON
        <textarea
          rows={10}
          required
          spellCheck={false}
          value={workflow}
          aria-invalid={workflow !== '' && !read.workflow}
          onChange={({ target }) => setWorkflow(target.value)}
        />
      </label>
      <label className="field">
        Or from a file
        <input
          type="file"
          accept=".json,application/json"
          onChange={({ target }) => void target.files?.[0]?.text().then(setWorkflow)}
        />
      </label>
      <label className="field">
        Inputs, as JSON
        <textarea
          rows={4}
          spellCheck={false}
          value={inputs}
          onChange={({ target }) => setInputs(target.value)}
        />
      </label>
      {(!read.inputs || (workflow !== '' && !read.workflow)) && <p role="status">This is not JSON yet.</p>}
    </Form>
  );
};

type Body = NonNullable<Parameters<typeof api.POST<'/workflows/{workflow_id}/versions', never>>[1]>['body'];

const postVersion = async (workflow_id: string, body: Body): Promise<unknown> =>
  answered(api.POST('/workflows/{workflow_id}/versions', { params: { path: { workflow_id } }, body }));

const jsonIn = (text: string): { readonly value: unknown } | undefined => {
  const value = parseJson(text);
  return value === undefined ? undefined : { value };
};
