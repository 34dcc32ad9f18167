#!/bin/sh
# usage: certificates.sh DIR    what the broker and its clients prove themselves with, as PEM
#   ca.pem                  the authority that all trust
#   server.pem              key and certificate of 127.0.0.1 and localhost
#   client.key client.pem   key and certificate of a client
#   token.key token.json    the key that signs tokens, and its public half as a JSON web key set
# Good for tests alone: nobody keeps the keys from anybody.
set -eu
mkdir -p "${1:?usage: certificates.sh DIR}"
cd "$1"

curve="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

# quiet COMMAND…: shows what a command says only when it fails.
quiet() {
    "$@" >quiet.log 2>&1 || { cat quiet.log >&2; exit 1; }
}

# issue NAME SUBJECT EXTENSION: NAME.key, and NAME.crt signed by the authority.
issue() {
    quiet openssl req $curve -subj "$2" -keyout "$1.key" -out "$1.csr"
    printf '%s\n' "$3" >"$1.ext"
    quiet openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 \
        -extfile "$1.ext" -out "$1.crt"
    rm "$1.csr" "$1.ext"
}

# $curve is unquoted on purpose: one word a flag.
quiet openssl req -x509 $curve -days 3650 -subj "/CN=riverhog test authority" \
    -keyout ca.key -out ca.pem
issue server "/CN=localhost" "subjectAltName=DNS:localhost,IP:127.0.0.1"
cat server.key server.crt >server.pem
issue client "/CN=riverhog" "extendedKeyUsage=clientAuth"
mv client.crt client.pem

quiet openssl genpkey -algorithm ed25519 -out token.key
# The last 32 bytes of the public half are the key itself (RFC 8410), in base64 for URLs (RFC 8037).
key=$(openssl pkey -in token.key -pubout -outform DER | tail -c 32 | openssl base64 -A |
    tr '+/' '-_' | tr -d '=')
# Made last: it says that all of them are there.
printf '{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":"test","x":"%s"}]}\n' \
    "$key" >token.json
rm -f quiet.log
