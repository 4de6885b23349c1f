import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../../api/client.ts';
import { FileDrop } from '../../ui/file-drop.tsx';
import { Problem } from '../../ui/problem.tsx';
import { bytes } from '../../ui/words.ts';

interface FileFieldProps {
  readonly id: string;
  readonly type: string;
  /** Of the uploaded file; empty for none. */
  readonly fileId: string;
  readonly onChange: (fileId: string | undefined) => void;
}

const ACCEPTED: Readonly<Record<string, string>> = { image: 'image/*', audio: 'audio/*', video: 'video/*' };
/** Larger files go by resumable uploads, which the command line and the clients do. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Takes a file that is chosen or dropped, uploads it, and gives its id. */
export const FileField = ({ id, type, fileId, onChange }: FileFieldProps): ReactNode => {
  const upload = useMutation({
    mutationFn: async (file: File) => {
      if (file.size > MOST_BYTES)
        throw new Error(
          `${file.name} has ${bytes(file.size)}. Files of more than ${bytes(MOST_BYTES)} are uploaded with the command line or a client.`,
        );
      return answered(
        api.POST('/files', {
          params: { query: { filename: file.name } },
          headers: { 'Content-Type': file.type === '' ? 'application/octet-stream' : file.type },
          // The types know no body that is no JSON.
          body: file as unknown as string,
          bodySerializer: (body) => body,
        }),
      );
    },
    onSuccess: ({ id: uploaded }) => onChange(uploaded),
  });
  return (
    <FileDrop id={id} accept={ACCEPTED[type]} onFile={(file) => upload.mutate(file)}>
      <p className="quiet" role="status">
        {upload.isPending && 'Uploading …'}
        {!upload.isPending &&
          upload.data &&
          fileId !== '' &&
          `${upload.data.filename}, ${bytes(upload.data.bytes)}, is uploaded.`}
        {!upload.isPending && fileId === '' && 'Choose a file, or drop one here.'}
      </p>
      {upload.error && <Problem error={upload.error} />}
    </FileDrop>
  );
};
