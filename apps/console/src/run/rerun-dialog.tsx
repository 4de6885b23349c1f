import { Form } from '../ui/form.tsx';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import type { Run, Schemas } from '../api/schemas.ts';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { Dialog } from '../ui/dialog.tsx';

type Inputs = NonNullable<Schemas['RerunRequest']['inputs']>;

interface RerunDialogProps {
  readonly run: Run;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Queues the run again, with its inputs or with others, and goes to the new run. */
export const RerunDialog = ({ run, open, onClose }: RerunDialogProps): ReactNode => {
  const given = JSON.stringify(run.workflow_inputs ?? {}, undefined, 2);
  const [text, setText] = useState(given);
  // The same key for each try, so that a response that was lost does not make two runs.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const navigate = useNavigate();
  const rerun = useMutation({
    mutationFn: async (inputs: Inputs | undefined) =>
      answered(
        api.POST('/run/{run_id}/rerun', {
          params: { path: { run_id: run.id }, header: { 'Idempotency-Key': key } },
          body: inputs === undefined ? {} : { inputs },
        }),
      ),
    onSuccess: ({ run_id }) => {
      setKey(crypto.randomUUID());
      onClose();
      void navigate({ to: '/runs/$runId', params: { runId: run_id } });
    },
  });
  const inputs = inputsIn(text);
  const submit = (): void => {
    if (inputs !== undefined) rerun.mutate(text === given ? undefined : inputs);
  };
  return (
    <Dialog title="Run again" open={open} onClose={onClose}>
      <Form button="Queue it" sending={rerun} isComplete={inputs !== undefined} onSubmit={submit}>
        <label className="field">
          Inputs, as JSON
          <textarea
            rows={12}
            value={text}
            spellCheck={false}
            aria-invalid={inputs === undefined}
            onChange={({ target }) => {
              setText(target.value);
              setKey(crypto.randomUUID());
            }}
          />
        </label>
        {inputs === undefined && <p role="status">This is not a JSON object yet.</p>}
      </Form>
    </Dialog>
  );
};

const inputsIn = (text: string): Inputs | undefined => {
  const value = parseJson(text);
  return isJsonObject(value) ? (value as Inputs) : undefined;
};
