# Made by `npm run client:python` from the OpenAPI document with the SHA-256 8b0dad85d38fb0332736d176d536bf3a3c9af7f8f6748a397eb1137fc887e1ac.
